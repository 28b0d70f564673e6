"""Sessions: wake, its context, and the narrative summary."""
