"""New memories: drafts, duplicates, versions, and the writer of notes."""
