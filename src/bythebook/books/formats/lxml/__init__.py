"""HTML, EPUB, Word and PowerPoint files → readings, parsed by lxml: nothing is fetched, no entity is resolved.

May import `books` and below.
"""
