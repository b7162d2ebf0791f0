"""Turns → stored threads, one turn at a time: whoever runs it holds the thread's lease.

May import `answering` and below; `ingestion` stands beside it.
"""
