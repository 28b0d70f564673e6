"""Entities: people, places, projects and concepts, as notes with names and properties."""
