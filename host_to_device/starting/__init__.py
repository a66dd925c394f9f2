"""The first cell of a notebook: find the GPU, or put the stand-ins in place."""
