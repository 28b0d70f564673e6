"""Files, locks, disks, HTTP, interrupts and YAML text. This package knows nothing of memories."""
