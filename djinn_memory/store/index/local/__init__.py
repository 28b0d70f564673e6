"""The index of a home in SQLite: its tables, words and vectors in SQL."""
