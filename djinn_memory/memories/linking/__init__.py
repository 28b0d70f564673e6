"""Links that notes do not have yet: what is related, what mentions a note, and writing them."""
