"""Backups: one archive with the vaults and all data that cannot be rebuilt."""
