"""Jobs: periodic maintenance of a home, whoever runs it."""
