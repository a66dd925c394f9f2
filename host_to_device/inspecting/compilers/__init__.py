"""The compilers, one a module: what each is given, what it answers, and what is said where it refuses."""
