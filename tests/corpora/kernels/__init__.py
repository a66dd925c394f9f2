"""Right kernels as a first GPU course writes them, and what each must give: see `corpus.ALL`."""
