"""The languages of listings, one per module: each reads its text into instructions and has the remarks on them."""
