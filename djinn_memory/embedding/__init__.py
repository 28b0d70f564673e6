"""Embedding models turn texts into vectors. A cross-encoder scores pairs of texts."""
