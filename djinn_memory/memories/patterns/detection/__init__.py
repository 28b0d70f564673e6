"""Detection: finds habits in a history of episodes. Pure, deterministic, linear in the episodes."""
