"""Short programs of array expressions, with what the real CuPy makes of them: written by hand, and made from seeds.

A program is a list of statements. Its outcome is the exception of each statement that raises one, and every value that
is left at the end: type, dtype, shape, strides and elements (`running`). `generating` makes programs from a seed,
`shrinking` finds the smallest program that still shows a difference, `written` has programs by hand, and `storing`
keeps both with the outcomes of the real CuPy, which `python -m tests.commands.cupy.expressions` asks for.
"""
