"""A Qdrant server or cluster, shared by many processes.

The only folder that imports `qdrant_client`.
"""
