"""Memories that leave: removed permanently, or restored from the trash."""
