"""The model's drafter, at any OpenAI-compatible server.

The only folder that imports `agents` and `openai`.
"""
