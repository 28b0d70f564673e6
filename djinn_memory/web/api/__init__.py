"""The HTTP API: one route for each operation, for programs with a key."""
