"""A folder of lessons → lessons → chunks and statements. Pure code.

May import `errors`, `settings`, `plain` and `retry`; knows nothing of embeddings, indexes or networks.
"""
