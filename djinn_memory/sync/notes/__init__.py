"""Synchronizes the files of a vault with a server: which side changed, and what follows."""
