"""Synchronizes the files of a vault with a server: the changes of each side, and their results."""
