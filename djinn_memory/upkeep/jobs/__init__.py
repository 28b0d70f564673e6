"""Jobs: the upkeep that a home needs now and then, whoever runs it."""
