"""`host-to-device grade`: run the notebooks of a class in a sandbox, judge them outside, and write marks and feedback.

`submissions` finds the notebooks that were handed in and `cells` reads them. `sandbox` says how a process is shut in, and
`inside` is the program that runs there: first the cells of a notebook, then the runs of its exercises. `runs` strips a
check to what such a run needs, `frames` are the messages between the two sides, `marking` holds the conversation for one
notebook and judges what comes back, and `batch` marks all of them, `scheduled` on a cluster. `private` reads checks that
the course does not show. `gradebook` and `feedback` write the results; `shapes` compares code for `misconceptions`, which
names what a wrong answer shows, and for `duplicates`, which lists answers that are alike. `fork_server` starts notebooks
faster, in the same sandbox.
"""
