"""Changes that djinn makes to notes on its own judgement or in bulk, and their undoing."""
