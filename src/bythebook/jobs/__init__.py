"""Ingestion jobs: rows that any worker can take up, and the workers that do."""
