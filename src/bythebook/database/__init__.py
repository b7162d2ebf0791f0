"""The SQL database: its tables, its migrations, and how it is opened. SQLite in a file, or PostgreSQL."""
