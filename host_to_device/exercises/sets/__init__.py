"""The checks of the exercises, a module for each set: made from `solutions/` by `make exercises`."""
