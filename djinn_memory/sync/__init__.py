"""Synchronization of vaults with a Postgres server, where several homes meet."""
