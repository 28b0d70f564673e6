"""Changes that upkeep proposes, and that a person accepts or dismisses."""
