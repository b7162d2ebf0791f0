"""Chunks and vectors → collections on a Qdrant server or cluster that many processes share.

May import `index` and below; the only folder that imports `qdrant_client`.
"""
