"""The pages of the settings: scoring, who sees what, and the health of the home."""
