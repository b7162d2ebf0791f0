"""An order to ingest → a leased row that any worker can take up.

May import `threads`, `ingestion` and below; `evaluation` stands beside it.
"""
