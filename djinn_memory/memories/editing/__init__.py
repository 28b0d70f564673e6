"""Changes of a note that links follow: its title, its place, its front matter."""
