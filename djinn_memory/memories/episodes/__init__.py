"""Episodes: what was said and seen, as records in journals."""
