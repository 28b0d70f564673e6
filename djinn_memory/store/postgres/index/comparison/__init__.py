"""Compares the search index of a server with what it follows from."""
