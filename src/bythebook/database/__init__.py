"""An address → an open SQLite or PostgreSQL database with its tables migrated.

May import `books` and below.
"""
