"""The pages of what happened: the timeline with sessions, patterns in it, and agents."""
