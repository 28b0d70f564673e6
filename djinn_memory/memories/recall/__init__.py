"""Recalls and rescores memories, and records ratings and gaps."""
