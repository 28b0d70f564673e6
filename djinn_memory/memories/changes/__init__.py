"""Changes that djinn makes to notes, and their undoing."""
