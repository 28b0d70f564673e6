"""Backups: one archive with the vaults and all that cannot be made again."""
