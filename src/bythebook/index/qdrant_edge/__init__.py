"""The embedded engine: a folder per collection, held by one process at a time.

The only folder that imports `qdrant_edge`.
"""
