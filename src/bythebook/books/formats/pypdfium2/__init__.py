"""PDF files → readings, their characters and boxes from PDFium, their layout by our own rules.

May import `books` and below.
"""
