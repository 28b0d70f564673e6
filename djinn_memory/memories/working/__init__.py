"""Working memory: values that expire, and tasks."""
