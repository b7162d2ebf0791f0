"""Text → vector, by the embedded model, OpenAI, Cohere or a compatible server; in batches, in parallel, cached.

May import `database` and below.
"""
