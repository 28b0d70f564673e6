"""Readers of Office files, EPUB, HTML and CSV."""
