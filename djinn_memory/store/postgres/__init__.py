"""The storage of djinn on a Postgres server. All SQL for Postgres and its driver are here."""
