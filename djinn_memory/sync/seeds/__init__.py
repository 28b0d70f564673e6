"""The rows of the seeds' tables from notes, a module for each subject. Pure."""
