"""The measuring run (`make measure`): measure this machine's limits, run every notebook, and write one record.

Until the end, the results are in a folder beside the record, `.<machine>.job`: one file with the limits and one for
each notebook, each written whole. A run that was stopped therefore goes on from there. The record itself changes
once, at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from host_to_device.measuring import ledger, machines
from host_to_device.measuring.experiments import FOLDER
from host_to_device.starting import machine as machine_here
from host_to_device.support import folders

NOTEBOOK_SECONDS = 1800
GOES_ON = "the same command goes on from here"


class CannotMeasure(Exception):
    """The run cannot begin or go on: one line says why and what to do."""


class NotebookStopped(Exception):
    """A notebook did not run to its end."""


def limits_in_a_process(progress: Callable[[str], Any]) -> dict[str, Any]:
    """Measure the limits in a process of its own, so that it frees the GPU's memory when it ends.

    Raises
    ------
    CannotMeasure
        If the process fails.
    """
    command = [sys.executable, "-c", "from host_to_device.measuring.limit_runs import main; main()"]
    environment = {**os.environ, "PYTHONPATH": _python_path()}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as process:
        assert process.stdout is not None and process.stderr is not None  # pipes, as asked for
        try:
            last = ""
            for line in process.stderr:
                last = line.rstrip()
                progress(last)
            found = process.stdout.read()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise CannotMeasure(
            f"the limits could not be measured: {last or f'exit status {process.returncode}'}"
        )
    return json.loads(found)


def run_notebook(path: Path, folder: Path, seconds: float, progress: Callable[[int, int], Any]) -> None:
    """Run a notebook whose experiments leave their samples in `folder`; the notebook's file stays as it is.

    Raises
    ------
    NotebookStopped
        If a cell fails, or if the cells do not all end in time.
    CannotMeasure
        If the packages that run notebooks are not installed.
    """
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    except ModuleNotFoundError as problem:
        raise CannotMeasure(
            f"notebooks are run with {problem.name}: pip install nbclient ipykernel"
        ) from None

    notebook = nbformat.read(path, as_version=4)
    end = time.monotonic() + seconds
    cell_id, stopped = "", False

    def begin(cell: Any, cell_index: int) -> None:
        nonlocal cell_id
        cell_id = cell.get("id", str(cell_index))
        progress(cell_index + 1, len(notebook.cells))

    def listen(**_: Any) -> None:
        # nbclient's own handler of signals ends the kernel, and the run then fails in one of several ways.
        task = asyncio.current_task()

        def stop() -> None:
            nonlocal stopped
            stopped = True
            if task is not None:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt
                asyncio.get_running_loop().add_signal_handler(number, stop)

    client = NotebookClient(
        notebook,
        timeout_func=lambda cell: max(1, round(end - time.monotonic())),
        resources={"metadata": {"path": path.parent}},
        on_notebook_start=listen,
        on_cell_start=begin,
    )
    try:
        with (folder / "kernel.log").open("w") as log:
            environment = {**os.environ, FOLDER: str(folder.resolve()), "PYTHONPATH": _python_path()}
            client.execute(env=environment, stdout=log, stderr=log)
    except (Exception, asyncio.CancelledError) as problem:
        # nbclient raises AssertionError if it is stopped before the kernel has started.
        if stopped or isinstance(problem, AssertionError):
            raise KeyboardInterrupt from None
        if isinstance(problem, CellExecutionError):
            what = f"{problem.ename}: {str(problem.evalue).splitlines()[0] if problem.evalue else ''}"
            reason = f"stopped in cell {cell_id!r}: {what}"
        elif isinstance(problem, CellTimeoutError):
            reason = f"was not done after {seconds:g} s, in cell {cell_id!r}: give it more with --timeout"
        elif isinstance(problem, DeadKernelError):
            reason = f"ended its kernel in cell {cell_id!r}: is there enough memory?"
        elif isinstance(problem, RuntimeError):
            reason = f"could not be run: {str(problem).splitlines()[0]}"
        else:
            raise
        raise NotebookStopped(reason) from None


def _python_path() -> str:
    """Return a search path on which child processes find this installation of the library."""
    return os.pathsep.join(filter(None, [str(folders.PACKAGE.parent), os.environ.get("PYTHONPATH", "")]))


@dataclass
class Run:
    """One measuring run.

    Attributes
    ----------
    to
        The folder of the record.
    root
        The checkout whose notebooks are run.
    notebooks
        The notebooks to run; those in `root/notebooks` if the list is empty.
    again
        Whether to measure again what is recorded already.
    name
        Another name for this machine.
    timeout
        Seconds for each notebook.
    say
        The function that prints a line.
    measure_limits, run_notebook
        The functions that measure; tests give others.
    """

    to: Path
    root: Path
    notebooks: Sequence[Path] = ()
    again: bool = False
    name: str = ""
    timeout: float = NOTEBOOK_SECONDS
    say: Callable[[str], Any] = lambda line: print(line, flush=True)
    measure_limits: Callable[[Callable[[str], Any]], dict[str, Any]] = limits_in_a_process
    run_notebook: Callable[[Path, Path, float, Callable[[int, int], Any]], None] = run_notebook
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str | None] = field(default_factory=dict)

    # --- The run ---

    def measure(self) -> int:
        """Measure and write the record; return 0, or 1 if a notebook failed.

        Raises
        ------
        CannotMeasure
            If the run cannot begin, or if its record cannot be written.
        """
        began = time.monotonic()
        self.machine, self.versions = machines.describe(), machines.versions()
        self._refuse_a_rehearsal()
        if self.name:
            self.machine["name"] = self.name
        self.record_path = self.to / f"{machines.slug(self.machine['name'])}.json"
        self.job = self.to / f".{self.record_path.stem}.job"
        paths = self._notebooks()
        self._refuse_two_of_a_name(paths)
        try:
            self.to.mkdir(parents=True, exist_ok=True)
            with self._alone():
                failed = self._measure(paths)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise CannotMeasure(
                f"cannot write in {self.to} ({reason}): free space there, or name another folder with --to; "
                f"what has been measured is kept, and {GOES_ON}"
            ) from problem
        self.say(f"done in {time.monotonic() - began:.0f} s: {self.record_path}")
        for line in failed:
            self.say(f"  not measured: {line}")
        return 1 if failed else 0

    def _measure(self, paths: list[Path]) -> list[str]:
        old = self._old_record()
        self._open_job()
        commit, clean = machines.commit_of(self.root)
        self.stamp = {"date": _today(), "commit": commit, "clean": clean}
        self.say(f"{self.machine['name']}: measuring for {self.record_path}{_said_of(self.stamp)}")
        limits = self._limits(old)
        failed, done = [], []
        for number, path in enumerate(paths, 1):
            try:
                found = self._notebook(path, f"notebook {number} of {len(paths)}: {self._label(path)}", old)
            except NotebookStopped as problem:
                failed.append(f"{self._label(path)} {problem}")
                self.say(f"  {problem}")
                continue
            if found is not None:
                done.append(found)
        self._write(old, limits, done, failed)
        if not failed:
            # First: without this file a later run ignores the rest of the folder.
            (self.job / "job.json").unlink()
            shutil.rmtree(self.job, ignore_errors=True)
        return failed

    def _limits(self, old: dict[str, Any] | None) -> dict[str, Any]:
        """Return the limits with their stamp: from this job, from the record, or measured now."""
        path = self.job / "limits.json"
        if (kept := _read(path)) is not None:
            self.say(f"limits: measured already, on {kept['stamp']['date']}")
            return kept
        if old is not None and not (self.again and not self.notebooks):
            self.say("limits: recorded already")
            return {
                "limits": old["limits"],
                "stamp": {part: old[part] for part in ("date", "commit", "clean")},
            }
        self.say("limits of this machine (half a minute or so)")
        found = {"limits": self.measure_limits(lambda line: self.say(f"  {line}")), "stamp": self.stamp}
        ledger.write_whole(path, json.dumps(found, allow_nan=False))
        return found

    def _notebook(self, path: Path, said: str, old: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return what a notebook measured, earlier in this job or now; None where there is nothing to do."""
        source = ledger.digest(path.read_text(encoding="utf-8"))
        kept_at = self.job / f"{machines.slug(self._label(path))}.json"
        if (kept := _read(kept_at)) is not None and kept["source"] == source:
            self.say(f"{said}: measured already, on {kept['stamp']['date']}")
            return kept
        made = ledger.experiments_in(path)
        if not made:
            self.say(f"{said}: nothing to measure")
            return None
        recorded = old["experiments"] if old is not None else {}
        if not self.again and all(name in recorded for name, _ in made):
            self.say(f"{said}: recorded already{self._stale_among(path, made, recorded)}")
            return None
        began = time.monotonic()
        self.say(f"{said} …")
        folder = self.job / f"run-{uuid.uuid4().hex[:8]}"
        folder.mkdir()
        try:
            self.run_notebook(path, folder, self.timeout, self._progress)
            experiments = self._collected(path, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        found = {"source": source, "stamp": self.stamp, "experiments": experiments}
        ledger.write_whole(kept_at, json.dumps(found, allow_nan=False))
        self.say(f"  done in {time.monotonic() - began:.0f} s")
        return found

    def _stale_among(self, path: Path, made: list[tuple[str, str]], recorded: dict[str, Any]) -> str:
        cells = dict(ledger.code_cells(path))
        changed = [name for name, cell in made if ledger.digest(cells[cell]) != recorded[name]["cell_hash"]]
        return f" ({', '.join(changed)} changed since: --again measures anew)" if changed else ""

    def _progress(self, cell: int, of: int) -> None:
        if sys.stdout.isatty():
            print(f"\r  cell {cell} of {of} ", end="\r", flush=True)

    def _collected(self, path: Path, folder: Path) -> dict[str, Any]:
        """Return the experiments that a notebook left in `folder`, in the form of a record."""
        cells = {ledger.digest(source): cell for cell, source in ledger.code_cells(path)}
        found = {}
        for file in sorted(folder.glob("*.json")):
            left = json.loads(file.read_text(encoding="utf-8"))
            name = left["name"]
            if left["cell_hash"] not in cells:
                raise NotebookStopped(
                    f"made experiment {name!r} in none of its cells: begin it in a cell of the notebook"
                )
            samples = [each for each in left["samples"] if each["where"] in ledger.PLACES]
            if len(samples) < len(left["samples"]):
                some = (
                    f"{len(left['samples']) - len(samples)} of its {len(left['samples'])} points are"
                    if samples
                    else "it is"
                )
                self.say(f"  {name}: {some} a stand-in's and left out: its times are not a GPU's")
            if not samples:
                continue
            where = "GPU" if any(each["where"] == "GPU" for each in samples) else "CPU"
            samples = [
                {key: part for key, part in each.items() if key != "where" or part != where}
                for each in samples
            ]
            found[name] = {
                "title": left["title"],
                "x": left["x"],
                "y": left["y"],
                **({"limits": left["limits"]} if left["limits"] else {}),
                "notebook": self._label(path),
                "cell": cells[left["cell_hash"]],
                "cell_hash": left["cell_hash"],
                **self.stamp,
                "where": where,
                "samples": samples,
            }
            many = sum(len(each["values"]) for each in samples)
            self.say(f"  {name}: {_some(many, 'sample')} at {_some(len(samples), 'point')}, {where}")
            for each in samples:
                if each.get("doubts"):
                    at = " ".join(str(part) for part in (each["series"], each["x"]) if part not in ("", None))
                    self.say(f"  {name}{f', {at}' if at else ''}: doubtful: {', '.join(each['doubts'])}")
        return found

    def _write(
        self,
        old: dict[str, Any] | None,
        limits: dict[str, Any],
        done: list[dict[str, Any]],
        failed: list[str],
    ) -> None:
        """Write the record: the old experiments, replaced and joined by the new ones."""
        experiments = dict(old["experiments"]) if old is not None else {}
        if self.again and not self.notebooks and not failed:
            experiments = {}  # all of them are new; those that no notebook makes any more are gone
        if old is not None and self._other_versions(old):
            if failed:
                self.say(
                    "the record stays as it was: it was made with other versions, and not all could be measured anew"
                )
                return
            experiments = {}
        for one in done:
            for name, about in one["experiments"].items():
                if name in experiments and not self.again:
                    self.say(
                        f"  {name}: recorded already, and kept (--again puts the new samples in its place)"
                    )
                    continue
                experiments[name] = about
        data = {
            "schema": ledger.SCHEMA,
            "machine": self.machine,
            "versions": self.versions,
            **limits["stamp"],
            "limits": limits["limits"],
            "experiments": dict(sorted(experiments.items())),
        }
        if data == old:
            return
        for each in ledger.exceeded_in(data).values():
            self.say(f"limit {each.limit}: doubtful: {each.text}")
        ledger.write_whole(self.record_path, ledger.text_of(data))

    # --- What it begins with ---

    def _refuse_a_rehearsal(self) -> None:
        for gpu in self.machine["gpus"]:
            if gpu["name"].startswith(machine_here.REHEARSAL):
                raise CannotMeasure(
                    f"the device is the {gpu['name']}: its times are those of a CPU that computes as a GPU would, "
                    "so they are not recorded"
                )

    def _notebooks(self) -> list[Path]:
        paths = [path.resolve() for path in self.notebooks]
        for path in paths:
            if path.suffix != ".ipynb" or not path.is_file():
                raise CannotMeasure(
                    f"there is no notebook {path.name}: name one as in --notebook notebooks/02-….ipynb"
                )
        return paths or sorted((self.root / "notebooks").glob("*.ipynb"))

    def _refuse_two_of_a_name(self, paths: list[Path]) -> None:
        makers: dict[str, str] = {}
        everywhere = {*paths, *(self.root / "notebooks").glob("*.ipynb")}
        for path in sorted(everywhere):
            for name, _ in ledger.experiments_in(path):
                if name in makers:
                    raise CannotMeasure(
                        f"there are two experiments {name!r}, in {makers[name]} and {self._label(path)}: rename one"
                    )
                makers[name] = self._label(path)

    def _label(self, path: Path) -> str:
        """Return how a record names a notebook: within the checkout, or by its name alone."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.name

    def _old_record(self) -> dict[str, Any] | None:
        """Return this machine's record, None where there is none yet; refuse one of other hardware or other versions."""
        if not self.record_path.exists():
            return None
        try:
            old = ledger.read(self.record_path)
        except ledger.LedgerError as problem:
            raise CannotMeasure(str(problem)) from None
        for part in ("cpu", "cores", "gpus"):
            if old["machine"][part] != self.machine[part]:
                raise CannotMeasure(
                    f"{self.record_path.name} is of another machine ({part}: {old['machine'][part]}, and here "
                    f"{self.machine[part]}): name this one with --name"
                )
        if (other := self._other_versions(old)) and (not self.again or self.notebooks):
            raise CannotMeasure(
                f"{self.record_path.name} was made with {other}: --again, without --notebook, measures all of it anew"
            )
        return old

    def _other_versions(self, old: dict[str, Any]) -> str:
        """Return the versions that differ from those of a record; the course's own is left out, as its commit is recorded."""
        before = {**old["versions"], **{part: old["machine"].get(part) for part in ("os", "driver", "cuda")}}
        now = {**self.versions, **{part: self.machine[part] for part in ("os", "driver", "cuda")}}
        different = [part for part in now if part != "host-to-device" and before.get(part) != now[part]]
        return ", ".join(f"{part} {before.get(part)} (here {now[part]})" for part in different)

    def _open_job(self) -> None:
        """Go on with the job of an earlier run, or begin a new one."""
        about = {"machine": self.machine, "versions": self.versions, "again": self.again}
        path = self.job / "job.json"
        kept = _read(path)
        for left in (*self.job.glob("run-*"), *self.job.glob(".*.new")):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        for left in self.to.glob(f".{self.record_path.name}.*.new"):
            left.unlink(missing_ok=True)
        if kept is not None and (kept["machine"], kept["versions"]) == (self.machine, self.versions):
            self.again = about["again"] = self.again or kept["again"]
            self.say(f"going on with the run of {kept['date']}{' (--again)' if self.again else ''}; "
                     f"to begin anew, remove {self.job}")  # fmt: skip
            about["date"] = kept["date"]
        else:
            for left in self.job.glob("*.json"):
                left.unlink()
            about["date"] = _today()
        ledger.write_whole(path, json.dumps(about))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the job's lock, which the system releases if the process dies.

        Raises
        ------
        CannotMeasure
            If another run measures this machine for this folder.
        """
        self.job.mkdir(exist_ok=True)
        try:
            with FileLock(self.job / "lock", timeout=0):
                yield
        except Timeout:
            raise CannotMeasure(
                f"another run is measuring for {self.record_path} already: wait until it is done"
            ) from None


def _read(path: Path) -> Any:
    """Return the content of a file of the job, None where the file is missing."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _some(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many != 1)}"


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _said_of(stamp: dict[str, Any]) -> str:
    if stamp["commit"] is None:
        return ""
    return f" (commit {stamp['commit'][:7]}{'' if stamp['clean'] else ', tree not clean'})"


def checkout() -> Path:
    """Return the folder whose notebooks are measured: the library's own checkout, or the current one."""
    library = folders.PACKAGE.parent
    return library if (library / "notebooks").is_dir() else Path.cwd()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see `python -m host_to_device.measuring --help`."""
    parser = argparse.ArgumentParser(
        prog="python -m host_to_device.measuring",
        description="Measure this machine: its limits, then the experiments of every notebook. A run that was "
        "stopped goes on where it was.",
    )
    parser.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help=f"where the record goes (your own: {ledger.private_folder()})",
    )
    parser.add_argument("--again", action="store_true", help="also what is recorded already, in its place")
    parser.add_argument(
        "--notebook", type=Path, action="append", default=[], help="only this one (may be repeated)"
    )
    parser.add_argument("--name", default="", help="what to call this machine, where two would have one name")
    parser.add_argument(
        "--timeout",
        type=float,
        default=NOTEBOOK_SECONDS,
        metavar="SECONDS",
        help="for each notebook (%(default)s)",
    )
    given = parser.parse_args(arguments)
    if not given.timeout > 0:
        parser.error("--timeout is a number of seconds")
    if given.name and machines.slug(given.name) in ("", "schema"):
        parser.error("--name has to have a letter or a digit in it, and cannot be schema")
    run = Run(
        given.to or ledger.private_folder(),
        checkout(),
        given.notebook,
        given.again,
        given.name,
        given.timeout,
    )
    try:
        return run.measure()
    except (CannotMeasure, ledger.LedgerError) as problem:
        print(f"host_to_device: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nhost_to_device: stopped; {GOES_ON}", file=sys.stderr)
        return 130
