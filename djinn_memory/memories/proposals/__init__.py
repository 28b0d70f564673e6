"""What upkeep proposes to change, and what a person accepts or dismisses."""
