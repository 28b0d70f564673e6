"""Shows and changes the profiles of agents."""
