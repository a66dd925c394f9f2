"""What an author needs: exercises and checks made from `solutions/`, and the notebooks' one form."""
