"""The profile of an agent: a note with its identity, defaults, rules and working hours."""
