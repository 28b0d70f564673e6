"""The inbox: what waits for a decision of a person, from every source."""
