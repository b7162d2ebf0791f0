"""Evidence → a model's draft, from any OpenAI-compatible server.

May import `drafting` and below; the only folder that imports `agents` and `openai`.
"""
