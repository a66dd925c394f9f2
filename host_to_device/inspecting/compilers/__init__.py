"""The compilers, one per module: how each is called, what it returns, and how its errors read."""
