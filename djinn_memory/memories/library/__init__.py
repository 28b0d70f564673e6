"""The documents of a home."""
