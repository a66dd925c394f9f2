"""What builds the book: its Sphinx extension, drawings and self-hosted assets. Nothing else imports it."""
