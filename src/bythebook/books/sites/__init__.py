"""A site generator's own configuration → a book's title, language, address and order of lessons. Read as data, never run.

May import `books` and below; of `books`, what finds and reads files.
"""
