"""Turns → stored threads.

May import `answering` and below; `ingestion` stands beside it.
"""
