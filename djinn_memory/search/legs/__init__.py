"""The legs of a search: each proposes candidates and scores given ones."""
