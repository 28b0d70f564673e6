"""Jobs: periodic maintenance of a home, run by a person or a program."""
