"""Files, locks, disks, HTTP, interrupts and YAML text. Independent of memories."""
