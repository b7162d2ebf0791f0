"""Settings → open resources. The only folder that constructs an adapter.

May import `evaluation`, `jobs` and below.
"""
