"""Turns → threads that are kept.

May import `answering` and below; `ingestion` stands beside it.
"""
