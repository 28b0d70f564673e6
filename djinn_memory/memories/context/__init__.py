"""The context of a task: what memory knows about it, on one page."""
