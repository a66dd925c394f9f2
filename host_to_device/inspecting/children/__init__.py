"""Scripts that compile a kernel in a process of their own."""
