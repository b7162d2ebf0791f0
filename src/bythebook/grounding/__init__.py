"""Grounding: whether the book answers, and whether a sentence says what the book says. Pure code, no I/O."""
