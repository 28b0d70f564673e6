"""The tables that other programs read. Their rows follow from notes and events."""
