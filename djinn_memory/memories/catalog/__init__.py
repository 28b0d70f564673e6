"""What is remembered: list, show, count, resolve a name."""
