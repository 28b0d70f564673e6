"""The HTTP server, as a process of its own and in this one."""
