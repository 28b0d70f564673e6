"""Words on a server: posting lists and counts, and FTS5's BM25 over them."""
