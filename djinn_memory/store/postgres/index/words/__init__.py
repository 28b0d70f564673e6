"""Finds chunks by words with FTS5's BM25, from posting lists and counts on a server."""
