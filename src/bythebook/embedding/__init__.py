"""Text → vector: the embedded model, OpenAI, Cohere and any compatible server; batches, cache and parallel work.

May import `database` and below.
"""
