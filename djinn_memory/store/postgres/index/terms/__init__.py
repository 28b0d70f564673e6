"""Posting lists, and what BM25 makes of them. It needs no server."""
