"""Lists, reads and changes the files of a vault on disk."""
