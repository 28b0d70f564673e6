"""The optional stages of a search."""
