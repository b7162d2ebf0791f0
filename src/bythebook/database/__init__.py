"""Tables, migrations and an opened SQLite or PostgreSQL database.

May import `books` and the root.
"""
