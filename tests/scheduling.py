"""Which worker of pytest-xdist runs which files."""

from xdist.scheduler import LoadFileScheduling


class FilesTogether(LoadFileScheduling):
    """Gives a worker a whole file, as `--dist loadfile` does, or all files that belong together."""

    def __init__(self, config, log, together):
        super().__init__(config, log)
        self.together = together  # of a file, the one whose worker runs it too

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        return self.together.get(file, file)

    def remove_node(self, node):
        """Give the files of a worker that crashed to the others, without the test that it crashed in.

        xdist 3.8 runs that test again: it crashes the next worker too, and then the run waits for ever.
        """
        files = self.assigned_work.pop(node)
        left = {file: [test for test, done in tests.items() if not done] for file, tests in files.items()}
        crashed = next((tests[0] for tests in left.values() if tests), None)
        for file, tests in left.items():
            if others := {test: False for test in tests if test != crashed}:
                self.workqueue[file] = others
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def _reschedule(self, node):
        """Give a worker its next file. After the last file it ends: it would wait for another before its last test."""
        super()._reschedule(node)
        if not self.workqueue and not node.shutting_down:
            node.shutdown()
