"""reStructuredText → readings, parsed by docutils alone: no Sphinx, no `conf.py`.

May import `books` and below.
"""
