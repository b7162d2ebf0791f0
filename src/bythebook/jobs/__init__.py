"""A request to ingest → a leased row that any worker can take over.

May import `threads`, `ingestion` and below; `evaluation` stands beside it.
"""
