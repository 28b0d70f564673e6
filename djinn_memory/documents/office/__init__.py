"""The readers of Office files, EPUB and HTML."""
