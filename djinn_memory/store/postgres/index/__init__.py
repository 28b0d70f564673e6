"""The search index on a Postgres server: its rows are written by a push and read by searches."""
