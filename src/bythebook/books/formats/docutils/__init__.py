"""reStructuredText → readings, parsed by docutils alone: no Sphinx, no `conf.py`, nothing included from other files.

May import `books` and below.
"""
