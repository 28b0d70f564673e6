"""A vault on disk: its files, listed, read and changed."""
