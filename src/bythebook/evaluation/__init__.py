"""An author's questions → a scorecard.

May import `threads`, `ingestion` and below; `jobs` stands beside it.
"""
