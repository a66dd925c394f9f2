"""The languages that compilers write, and what each instruction does: PTX, SASS, AMD's GCN."""
