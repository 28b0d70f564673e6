"""Lists, shows and counts memories, and finds them by name."""
