"""What djinn keeps on a Postgres server. The SQL and the driver of Postgres stand here alone."""
