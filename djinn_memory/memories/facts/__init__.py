"""Facts: values with a category and a key."""
