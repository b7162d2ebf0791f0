"""Drafting: evidence in, sentences out. What is drafted is not trusted; `grounding` checks it before anyone sees it."""
