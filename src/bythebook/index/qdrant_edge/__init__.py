"""Chunks and vectors → a folder per collection in the embedded engine, held by one process at a time.

May import `index` and below; the only folder that imports `qdrant_edge`.
"""
