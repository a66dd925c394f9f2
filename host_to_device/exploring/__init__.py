"""Explorers: pictures of a model that the reader can move, one explorer a file."""
