"""What compilers make of a kernel: PTX, SASS and GCN, registers and occupancy, with no GPU."""
