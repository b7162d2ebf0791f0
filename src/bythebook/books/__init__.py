"""A folder of lessons → lessons → chunks and statements. Pure code.

May import `plain`, `retry`, `texts` and below; knows nothing of embeddings, indexes or networks.
"""
