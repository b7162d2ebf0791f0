"""Chat completions as OpenAI's clients ask for them → turns of a thread → completions that such clients show.

May import `web` and below.
"""
