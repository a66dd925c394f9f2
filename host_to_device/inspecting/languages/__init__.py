"""The languages of listings, one a module: how text is read into instructions, and what is said of each."""
