"""The pages of what is known: entities and facts."""
