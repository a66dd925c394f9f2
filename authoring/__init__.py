"""What only an author needs: student notebooks made from `solutions/`, and the one form of notebook files."""
