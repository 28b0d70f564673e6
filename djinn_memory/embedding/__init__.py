"""Embedding models: texts become vectors, and a cross-encoder scores pairs of texts."""
