"""Settings → opened resources. The only folder that constructs an adapter.

May import everything below the edges; `operations`, `web` and `cli` import it.
"""
