"""The kinds of proposals: each says how to find, to describe and to carry out its proposals."""
