"""Passages and a draft → may we answer, and does the book say this? Pure code, no I/O.

May import `retrieval` and below.
"""
