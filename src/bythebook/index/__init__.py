"""Chunks and vectors → stored, filtered and found again, by either engine.

May import `embedding` and below.
"""
