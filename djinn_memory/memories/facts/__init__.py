"""Facts: a value under a category and a key."""
