"""The bytes of an author's file → readings: Markdown with marks into that file, one module or folder for each format.

May import `books` and below; a vendor's library is imported by the folder of its name, and only when a file needs it.
"""
