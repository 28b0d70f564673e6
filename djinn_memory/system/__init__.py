"""The ground: files, locks, disks, HTTP, interrupts and YAML text. Knows nothing of memories."""
