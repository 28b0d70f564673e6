"""The rows of the tables that other programs read, from the notes of a vault."""
