"""Lessons made searchable: embeddings, lexical terms, the vector engine, and the ingestion that keeps them in step."""
