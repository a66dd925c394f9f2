"""Tables of the book that are made from data: wheels, GPUs, differences of the stand-ins."""
