"""A home: its settings, vaults, agents, trust and access."""
