"""One home with everything that waits or is wrong, and every way to use it."""
