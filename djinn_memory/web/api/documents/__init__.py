"""Routes of other memory systems, as their documents print them, for programs written for those."""
