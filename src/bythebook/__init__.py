"""By the Book: a textbook in, a tutor out. It answers only from the book and shows the exact passage."""

__version__ = "0.1.0"
