"""Threads: conversations that are kept."""
