"""Which entity a mention means: by its names, and by the text around it."""
