"""The text of a note: markup, headings, body."""
