"""Passages and a draft → whether to answer, and which sentences the book supports. Pure code, no I/O.

May import `retrieval` and below.
"""
