"""The sharing explorer: several jobs on one GPU, as an exact simulation of a small model.

All jobs are alike and start together. A job repeats one step: a gap, in which a CPU core works and the GPU has nothing
of this job, and then a kernel (or the step's kernels without a gap between them). The rules, with their sources:

- Without MPS, the GPU runs kernels of one process at a time and switches between processes (CUDA C++ Programming Guide,
  "Concurrent Kernel Execution"). The model gives each process with a kernel a time slice in turn. A slice ends early when
  the kernel ends. NVIDIA does not document the length of a slice; the model's has 2 ms. A switch takes no time here.
- With MPS, kernels of several processes run at the same time, in the multiprocessors that other kernels leave free
  (Multi-Process Service, "When to Use MPS"). The model gives each kernel, in the order of arrival, as many free
  multiprocessors as it fills. A kernel with fewer of them takes longer in proportion.
- With MIG, an instance has a fixed part of the multiprocessors and of the memory (Multi-Instance GPU User Guide,
  "Supported MIG Profiles": a half or a quarter on an A30). The model distributes the jobs over the instances in turn, and
  in an instance the first rule holds.
- A core works on one gap until it ends. Other jobs wait for a free core.
- Each job has its memory for itself, also with MPS. A job that does not find its memory does not start.
- GPU-Util is the share of the time in which at least one kernel runs (NVML, nvmlUtilization_t). NVML does not give it
  for a GPU in MIG mode (nvmlDeviceGetUtilizationRates).

Because all jobs start together, kernels of several jobs can coincide with MPS, and GPU-Util is then lower than with jobs that
start one after another.

Left out: kernels that slow each other down because they share caches and memory bandwidth, and the smaller memory
bandwidth of a MIG instance.

All times are whole microseconds: a kernel that gets few multiprocessors ends at the next whole one. The state of such a
model returns sooner or later, and the numbers of the explorer are those of the part that repeats. Where it has not returned
after `EVENTS` events, they are averages of the second half of these events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from host_to_device.exploring.explorer import Choice, Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, BLUE_SOFT, GREEN, INK, LINE, ORANGE, PURPLE, QUIET, WARNING
from host_to_device.rendering.table import Table

SLICE = 2000  # microseconds
EVENTS = 8000
SECOND = 1_000_000  # microseconds
KINDS = (
    "gap",
    "core",
    "kernel",
    "gpu",
)  # what a job does: its gap, wait for a core, its kernel, wait for the GPU


@dataclass(frozen=True)
class Part:
    """A part of a job's time.

    Attributes
    ----------
    job
        The job, counted from 0.
    kind
        One of `KINDS`.
    start, end
        Microseconds.
    used
        Percent of the GPU's multiprocessors that its kernel has.
    """

    job: int
    kind: str
    start: int
    end: int
    used: int = 0


@dataclass
class Schedule:
    """What happens when jobs run on one GPU.

    Attributes
    ----------
    parts
        What the jobs do from the start to the end of the window.
    period
        Microseconds of the part that repeats, or of the part that was averaged. The other numbers are of this part.
    steps
        The steps of each job.
    times
        Microseconds of each job by kind.
    busy
        Microseconds in which at least one kernel runs.
    used
        Percent of the multiprocessors, summed over the microseconds.
    repeats
        Whether the state returned.
    """

    parts: list[Part] = field(default_factory=list)
    period: int = 0
    steps: tuple[int, ...] = ()
    times: dict[str, tuple[int, ...]] = field(default_factory=dict)
    busy: int = 0
    used: int = 0
    repeats: bool = True


class Machine:
    """The state of all jobs, and how it goes on."""

    def __init__(
        self,
        instances: Sequence[Sequence[int]],
        *,
        size: int,
        kernel: int,
        gap: int,
        share: int,
        cores: int,
        together: bool,
    ) -> None:
        """Begin with all jobs before their first gap.

        Parameters
        ----------
        instances
            The jobs of each instance, numbered from 0; one instance is the whole GPU.
        size
            Percent of the multiprocessors that an instance has.
        kernel, gap
            Microseconds of a step's kernel, alone on the whole GPU, and of its gap.
        share
            Percent of the GPU's multiprocessors that a kernel fills.
        cores
            CPU cores.
        together
            Whether kernels of an instance run at the same time.
        """
        self.size, self.gap, self.share, self.cores, self.together = size, gap, share, cores, together
        self.work = kernel * share  # percent of the multiprocessors times microseconds
        self.instance = {job: at for at, jobs in enumerate(instances) for job in jobs}
        self.jobs = sorted(self.instance)
        self.left = dict.fromkeys(self.jobs, 0)  # of a gap microseconds, of a kernel work
        self.waiting = list(self.jobs)  # for a core
        self.gaps: list[int] = []
        self.ready: list[list[int]] = [[] for _ in instances]  # jobs with a kernel, in their order
        self.slices = [SLICE for _ in instances]
        self.now, self.busy, self.used = 0, 0, 0
        self.steps = dict.fromkeys(self.jobs, 0)
        self.times = {kind: dict.fromkeys(self.jobs, 0) for kind in KINDS}
        self._take_cores()

    def state(self) -> tuple[Any, ...]:
        """Return all that decides how it goes on."""
        return (
            tuple(self.left.values()),
            tuple(self.waiting),
            tuple(self.gaps),
            tuple(map(tuple, self.ready)),
            tuple(self.slices),
        )

    def totals(self) -> list[Any]:
        """Return what was counted so far, with the time first."""
        return [
            self.now,
            self.busy,
            self.used,
            list(self.steps.values()),
            [list(each.values()) for each in self.times.values()],
        ]

    def multiprocessors(self) -> dict[int, int]:
        """Return for each job whose kernel runs the percent of the multiprocessors that it has."""
        found = {}
        for jobs in self.ready:
            free = self.size
            for job in jobs if self.together else jobs[:1]:
                found[job] = min(self.share, free)
                free -= found[job]
        return {job: used for job, used in found.items() if used}

    def go_on(self) -> list[Part]:
        """Go on to the next event, and return what the jobs do until then."""
        running = self.multiprocessors()
        until = [self.left[job] for job in self.gaps]
        until += [-(-self.left[job] // used) for job, used in running.items()]
        until += [
            left for left, jobs in zip(self.slices, self.ready, strict=True) if jobs and not self.together
        ]
        passed = min(until)
        parts = [
            Part(job, kind, self.now, self.now + passed, running.get(job, 0))
            for job, kind in self._doing(running)
        ]
        self.now += passed
        self.busy += passed if running else 0
        for each in parts:
            self.times[each.kind][each.job] += passed
        for job in self.gaps:
            self.left[job] -= passed
        for job, used in running.items():
            done = min(self.left[job], used * passed)
            self.left[job] -= done
            self.used += done
        self._end_kernels(running)
        self._end_gaps()
        self._end_slices(passed, running)
        self._take_cores()
        return parts

    def _doing(self, running: Iterable[int]) -> Iterable[tuple[int, str]]:
        running = set(running)
        for job in self.jobs:
            if job in self.gaps:
                yield job, "gap"
            elif job in self.waiting:
                yield job, "core"
            else:
                yield job, "kernel" if job in running else "gpu"

    def _end_kernels(self, running: Iterable[int]) -> None:
        for job in running:
            if not self.left[job]:
                at = self.instance[job]
                self.ready[at].remove(job)
                self.waiting.append(job)
                self.steps[job] += 1

    def _end_gaps(self) -> None:
        for job in [job for job in self.gaps if not self.left[job]]:
            self.gaps.remove(job)
            self.ready[self.instance[job]].append(job)
            self.left[job] = self.work

    def _end_slices(self, passed: int, running: Iterable[int]) -> None:
        """Let the next job of an instance have the GPU where a slice or its kernel ended."""
        for at, jobs in enumerate(self.ready):
            had = [job for job in running if self.instance[job] == at]
            if self.together or not had or had[0] not in jobs:
                self.slices[at] = SLICE
                continue
            self.slices[at] -= passed
            if not self.slices[at]:
                jobs.append(jobs.pop(0))
                self.slices[at] = SLICE

    def _take_cores(self) -> None:
        while self.waiting and len(self.gaps) < self.cores:
            job = self.waiting.pop(0)
            self.gaps.append(job)
            self.left[job] = self.gap
        self.gaps.sort()


def simulate(instances: Sequence[Sequence[int]], window: int, **how: Any) -> Schedule:
    """Return the schedule of jobs on a GPU; `window` is in microseconds, `how` are the parameters of `Machine`."""
    machine, found = Machine(instances, **how), Schedule()
    seen = {machine.state(): machine.totals()}
    half = begin = end = machine.totals()
    for event in itertools.count(1):
        found.parts += [each for each in machine.go_on() if each.start < window]
        if begin is end:  # the end of the repeating part was not found yet
            now = machine.totals()
            begin, end = seen.setdefault(machine.state(), now), now
            if event == EVENTS // 2:
                half = now
            if begin is end and event >= EVENTS:
                begin, found.repeats = half, False
        if begin is not end and machine.now >= window:
            break
    found.period, found.busy, found.used = (
        last - first for first, last in zip(begin[:3], end[:3], strict=True)
    )
    found.steps = _less(end[3], begin[3])
    found.times = {
        kind: _less(last, first) for kind, first, last in zip(KINDS, begin[4], end[4], strict=True)
    }
    found.parts = joined(found.parts)
    return found


def _less(last: Sequence[int], first: Sequence[int]) -> tuple[int, ...]:
    return tuple(after - before for before, after in zip(first, last, strict=True))


def joined(parts: Iterable[Part]) -> list[Part]:
    """Return the parts by job, with neighbours of the same kind and multiprocessors joined."""
    found: list[Part] = []
    for each in sorted(parts, key=lambda part: (part.job, part.start)):
        last = found[-1] if found else None
        if last and (last.job, last.kind, last.used, last.end) == (
            each.job,
            each.kind,
            each.used,
            each.start,
        ):
            found[-1] = Part(each.job, each.kind, last.start, each.end, each.used)
        else:
            found.append(each)
    return found


MODES = {"slices": "time slices", "MPS": "MPS", "MIG 2": "MIG, 2 instances", "MIG 4": "MIG, 4 instances"}
INSTANCES = {"slices": 1, "MPS": 1, "MIG 2": 2, "MIG 4": 4}
CASES = {
    "own": "own (the sliders)",
    "two": "two run as one, three do not",
    "small": "small job, large GPU",
    "large": "large job, large GPU",
}
CASE_VALUES: dict[str, dict[str, int]] = {
    "two": {"kernel": 1000, "gap": 1000, "share": 30, "memory": 2, "gpu_memory": 8},
    "small": {"kernel": 1000, "gap": 200, "share": 20, "memory": 10, "gpu_memory": 96},
    "large": {"kernel": 4000, "gap": 200, "share": 100, "memory": 20, "gpu_memory": 96},
}
OWN, WHEN = (
    ("gap", "kernel"),
    8,
)  # limits in the job itself; steps of a job alone that the picture has room for

# Lengths in the SVG's own units: the picture's width, its margins, a job's row, a kernel, the multiprocessors, a row of limits.
WIDTH, LEFT, RIGHT, ROW, TALL, HIGH, LISTED = 460, 72, 92, 22, 15, 44, 18
COLOUR = {"gap": GREEN, "core": PURPLE, "kernel": BLUE, "gpu": ORANGE}


@dataclass(frozen=True)
class SharingPicture(Picture):
    """Several jobs on one GPU as a picture; see `explore_sharing` for the parameters."""

    case: str = "own"
    jobs: int = 3
    mode: str = "slices"
    kernel: int = 1000
    gap: int = 1000
    share: int = 30
    memory: int = 2
    gpu_memory: int = 8
    cores: int = 8

    controls: ClassVar = {
        "case": Choice("job", CASES),
        "jobs": Number("jobs", 1, 8),
        "mode": Choice("shared by", MODES),
        "kernel": Number("own kernel", 50, 20_000, "µs", log=True),
        "gap": Number("own gap", 50, 20_000, "µs", log=True),
        "share": Number("own multiprocessors", 1, 100, "%"),
        "memory": Number("own memory", 1, 192, "GB"),
        "gpu_memory": Number("memory of own GPU", 4, 192, "GB"),
        "cores": Number("CPU cores", 1, 16),
    }
    key: ClassVar = (
        "Low green bar: gap, a CPU core works. Tall blue bar: kernel; where its upper part is pale, it has fewer multiprocessors than it fills. "
        "Orange line: the job waits for the GPU. Purple line: it waits for a CPU core. The picture begins with the start "
        "of all jobs; the numbers are of the schedule that repeats after it. A model with chosen values: computed, not measured."
    )
    folded: ClassVar = "The jobs and the limits as a table"

    @cached_property
    def values(self) -> dict[str, int]:
        """The job and the GPU: kernel and gap in microseconds, multiprocessors in percent, memory in GB."""
        own = {name: getattr(self, name) for name in ("kernel", "gap", "share", "memory", "gpu_memory")}
        return CASE_VALUES.get(self.case, own)

    @property
    def size(self) -> int:
        """Percent of the multiprocessors that an instance has."""
        return 100 // INSTANCES[self.mode]

    @cached_property
    def instances(self) -> list[list[int]]:
        """The jobs of each instance that find their memory."""
        count = INSTANCES[self.mode]
        fit = self.values["gpu_memory"] // (count * self.values["memory"])
        return [list(range(at, self.jobs, count))[:fit] for at in range(count)]

    @cached_property
    def started(self) -> list[int]:
        """The jobs that find their memory."""
        return sorted(job for each in self.instances for job in each)

    @property
    def window(self) -> int:
        """Microseconds that the picture shows."""
        return WHEN * (self.values["kernel"] + self.values["gap"])

    @cached_property
    def schedule(self) -> Schedule:
        """What the jobs do; without a job, nothing."""
        if not self.started:
            return Schedule()
        return simulate(
            self.instances,
            self.window,
            size=self.size,
            kernel=self.values["kernel"],
            gap=self.values["gap"],
            share=self.values["share"],
            cores=self.cores,
            together=self.mode == "MPS",
        )

    @property
    def alone(self) -> float:
        """Steps a second of one job alone on the whole GPU."""
        return SECOND / (self.values["kernel"] + self.values["gap"])

    @property
    def rates(self) -> dict[int, float]:
        """Steps a second of each job that started."""
        found = self.schedule
        return {
            job: SECOND * steps / found.period for job, steps in zip(self.started, found.steps, strict=True)
        }

    @property
    def total(self) -> float:
        """Steps a second of all jobs together."""
        return sum(self.rates.values())

    @property
    def utilisation(self) -> float:
        """The share of the time in which at least one kernel runs."""
        return self.schedule.busy / self.schedule.period if self.started else 0.0

    @property
    def busy(self) -> float:
        """The share of the multiprocessors that a kernel fills, on average."""
        return self.schedule.used / self.schedule.period / 100 if self.started else 0.0

    @property
    def longer(self) -> float:
        """How many times as long a kernel takes alone in an instance as alone on the whole GPU."""
        return max(1.0, self.values["share"] / self.size)

    @cached_property
    def lost(self) -> dict[str, float]:
        """The share of the jobs' time that each limit costs: waiting, and what a kernel takes longer."""
        if not self.started:
            return {}
        found = self.schedule
        whole = found.period * len(self.started)
        took = {kind: sum(each) for kind, each in found.times.items()}
        slower = took["kernel"] - sum(found.steps) * self.values["kernel"]
        if self.mode == "MPS":
            return {"cores": took["core"] / whole, "multiprocessors": (slower + took["gpu"]) / whole}
        return {
            "cores": took["core"] / whole,
            "slices": took["gpu"] / whole,
            "multiprocessors": slower / whole,
        }

    @property
    def limit(self) -> str:
        """What limits the jobs most: "cores", "slices", "multiprocessors", or a part of the job, "gap" or "kernel".

        It is "memory" if no job fits.
        """
        if not self.started:
            return "memory"
        worst = max(self.lost, key=lambda name: self.lost[name])
        if self.lost[worst] >= 0.005:
            return worst
        return "gap" if self.values["gap"] >= self.values["kernel"] else "kernel"

    def bounds(self) -> dict[str, float]:
        """Return the most steps a second of all jobs together that each limit allows on its own."""
        kernel, gap = self.values["kernel"], self.values["gap"]
        found = {
            "job": len(self.started) * SECOND / (gap + self.longer * kernel),
            "cores": self.cores * SECOND / gap,
        }
        if self.mode == "MPS":
            found["multiprocessors"] = SECOND / kernel * 100 / self.values["share"]
        else:
            found["slices"] = sum(map(bool, self.instances)) * SECOND / (self.longer * kernel)
        return found

    @property
    def warns(self) -> bool:
        """Whether a job does not fit."""
        return len(self.started) < self.jobs

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        count = len(self.started)
        said = f"{_counted(self.jobs, 'job')}, {MODES[self.mode]}, {_counted(self.cores, 'CPU core')}. "
        said += self._memory()
        if not count:
            return said.strip()
        low, high = min(self.rates.values()), max(self.rates.values())
        name = "The job makes" if count == 1 else "Each job makes"
        if _rate(low) == _rate(high):
            said += (
                f"{name} {_rate(low)} steps a second, {_percent(low / self.alone)} of a job alone on the GPU "
            )
        else:
            said += (
                f"A job makes {_rate(low)} to {_rate(high)} steps a second, {_percent(low / self.alone)} to "
                f"{_percent(high / self.alone)} of a job alone on the GPU "
            )
        said += f"({_rate(self.alone)}). "
        if count > 1:
            said += (
                f"All together make {_rate(self.total)}, {self.total / self.alone:.2f} times one job alone. "
            )
        return f"{said}{self._limit()} {self._use()}"

    def _memory(self) -> str:
        refused = self.jobs - len(self.started)
        if not refused:
            return ""
        where = "the GPU" if INSTANCES[self.mode] == 1 else "an instance"
        has = _gigabytes(self.values["gpu_memory"] / INSTANCES[self.mode])
        verb = "does not start" if refused == 1 else "do not start"
        return (
            f"Memory is a limit: {refused} of {_counted(self.jobs, 'job')} {verb}, because each needs "
            f"{_gigabytes(self.values['memory'])} and {where} has {has}. "
        )

    def _limit(self) -> str:
        """Return a sentence about what limits the jobs that run."""
        if self.limit in OWN:
            if self.values["gap"] == self.values["kernel"]:
                return "No job waits: each job is limited by its own gap and kernel, which are equally long."
            return f"No job waits: each job is limited by its own step, most of which is the {self.limit}."
        lost = _percent(self.lost[self.limit])
        if self.limit == "cores":
            return f"The CPU cores are the limit: a job waits for a free core for {lost} of its time."
        if self.limit == "slices":
            return f"The time slices are the limit: a job waits for the GPU for {lost} of its time."
        if self.mode == "MPS":
            return f"The multiprocessors are the limit: waiting for them and slower kernels take {lost} of a job's time."
        return (
            f"The multiprocessors are the limit: alone in an instance, a kernel takes {self.longer:.3g} times as long as "
            "alone on the whole GPU."
        )

    def _use(self) -> str:
        busy = f"{_percent(self.busy)} of the multiprocessors are busy on average"
        if INSTANCES[self.mode] > 1:
            return f"{busy}. NVML gives no GPU-Util in MIG mode."
        return f"GPU-Util is {_percent(self.utilisation)}; {busy}."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        words = {
            "gap": "gap",
            "core": "waits for a core",
            "kernel": "kernel",
            "gpu": "waits for the GPU",
        }
        lanes = []
        for job in range(self.jobs):
            if job not in self.started:
                lanes.append(f"job {job + 1}: does not fit in memory")
                continue
            parts = [each for each in self.schedule.parts if each.job == job][:5]
            listed = ", ".join(f"{words[each.kind]} until {each.end / 1000:g} ms" for each in parts)
            lanes.append(f"{self._name(job)}: {listed}")
        return (
            f"The first {self.window / 1000:g} ms of all jobs, a row for each. Their first parts: {'; '.join(lanes)}. "
            f"Below, when a kernel runs, the busy multiprocessors over the time, and the limits. {self.summary()}"
        )

    def _name(self, job: int) -> str:
        count = INSTANCES[self.mode]
        return f"job {job + 1}" if count == 1 else f"job {job + 1} in instance {'ABCD'[job % count]}"

    def _order(self) -> list[int]:
        """Return the jobs in the order of the rows: by instance."""
        return sorted(range(self.jobs), key=lambda job: (job % INSTANCES[self.mode], job))

    def _x(self, microseconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(microseconds, self.window) / self.window

    def svg(self) -> str:
        """Return the picture: a row for each job, what the GPU does, and the limits."""
        right = WIDTH - RIGHT
        parts = [svg.text(WIDTH - 2, 12, "steps/s, of one alone", QUIET, "end")]
        y, before = 18.0, 0
        for job in self._order():
            instance = job % INSTANCES[self.mode]
            if instance != before:
                parts.append(svg.line(0, y + 1, WIDTH, y + 1, LINE))
                y, before = y + 3, instance
            parts += self._lane(job, y)
            y += ROW
        bottom = y + 4
        used, y = self._used(bottom)
        ticks = self._ticks(18, y)
        listed, y = self._limits(y + 34)
        return svg.picture(
            [*ticks, svg.line(LEFT, bottom, right, bottom, LINE), *parts, *used, *listed],
            self.alt(),
            (0, 0, WIDTH, y),
            WIDTH * 1.35,
        )

    def _lane(self, job: int, top: float) -> list[str]:
        """Return the row of a job."""
        floor, count = top + ROW - 4, INSTANCES[self.mode]
        name = f"job {job + 1}" if count == 1 else f"{'ABCD'[job % count]}: job {job + 1}"
        parts = [svg.text(0, floor - 3, name)]
        if job not in self.started:
            parts.append(
                svg.text(
                    LEFT + 4,
                    floor - 3,
                    f"does not start: needs {_gigabytes(self.values['memory'])}",
                    WARNING,
                )
            )
            return [*parts, svg.text(WIDTH - 2, floor - 3, "–", WARNING, "end")]
        mine = [each for each in self.schedule.parts if each.job == job]
        for kind in KINDS:
            boxes = [
                (
                    self._x(each.start),
                    self._x(each.end),
                    4.0 if kind == "gap" else TALL * each.used / self.values["share"],
                )
                for each in mine
                if each.kind == kind
            ]
            if not boxes:
                continue
            if kind in ("gap", "kernel"):
                path = "".join(
                    f"M{x:.2f} {floor}V{floor - high:.2f}H{end:.2f}V{floor}Z" for x, end, high in boxes
                )
                if any(high < TALL for *_, high in boxes if kind == "kernel"):
                    whole = "".join(
                        f"M{x:.2f} {floor}V{floor - TALL}H{end:.2f}V{floor}Z" for x, end, _ in boxes
                    )
                    parts.append(svg.element("path", d=whole, fill=BLUE_SOFT))
                parts.append(svg.element("path", d=path, fill=COLOUR[kind]))
            else:
                path = "".join(f"M{x:.2f} {floor - 6}H{end:.2f}" for x, end, _ in boxes)
                dashes = {"stroke_dasharray": "3 2"} if kind == "core" else {}
                parts.append(svg.element("path", d=path, stroke=COLOUR[kind], stroke_width=2.5, **dashes))
        rate = self.rates[job]
        parts.append(svg.text(WIDTH - 46, floor - 3, _rate(rate), anchor="end"))
        parts.append(svg.text(WIDTH - 2, floor - 3, _percent(rate / self.alone), anchor="end"))
        return parts

    def _used(self, top: float) -> tuple[list[str], float]:
        """Return when a kernel runs and the busy multiprocessors, and where the drawing of them ends."""
        changes: dict[int, int] = {0: 0, self.window: 0}
        for each in self.schedule.parts:
            if each.used:
                end = min(each.end, self.window)
                changes[each.start] = changes.get(each.start, 0) + each.used
                changes[end] = changes.get(end, 0) - each.used
        height, floor = 0, top + 24 + HIGH
        strip, area = "", f"M{LEFT} {floor}"
        for start, end in itertools.pairwise(sorted(changes)):
            height += changes[start]
            x, until, y = self._x(start), self._x(end), floor - HIGH * height / 100
            area += f"V{y:.2f}H{until:.2f}"
            strip += f"M{x:.2f} {top + 15}V{top + 6}H{until:.2f}V{top + 15}Z" if height else ""
        right = WIDTH - RIGHT
        given = "not given" if INSTANCES[self.mode] > 1 else _percent(self.utilisation)
        parts = [
            svg.text(0, top + 15, "GPU-Util"),
            svg.text(WIDTH - 2, top + 15, given, anchor="end"),
            svg.text(0, floor - HIGH / 2 - 2, "busy multi-"),
            svg.text(0, floor - HIGH / 2 + 12, "processors"),
            svg.text(WIDTH - 2, floor - HIGH / 2 + 4, _percent(self.busy), anchor="end"),
            svg.line(LEFT, floor - HIGH, right, floor - HIGH, QUIET, stroke_dasharray="2 3"),
            svg.text(right + 4, floor - HIGH + 9, "100 %", QUIET, size=10),
            svg.text(right + 4, floor, "0 %", QUIET, size=10),
            svg.line(LEFT, floor, right, floor, QUIET),
        ]
        if strip:
            parts.append(svg.element("path", d=strip, fill=BLUE))
            parts.append(svg.element("path", d=f"{area}V{floor}Z", fill=BLUE_SOFT, stroke=BLUE))
        return parts, floor

    def _ticks(self, top: float, bottom: float) -> list[str]:
        """Return the lines of the time axis with their milliseconds."""
        step = next(
            each
            for each in (scale * 10**power for power in range(2, 7) for scale in (1, 2, 5))
            if self.window / each <= 6
        )
        parts = []
        for at in range(0, self.window + 1, step):
            x = self._x(at)
            parts.append(svg.line(x, top, x, bottom, LINE))
            words = f"{at / 1000:g}" if at else "0 ms"
            parts.append(svg.text(x, bottom + 14, words, anchor="middle"))
        return parts

    def _limits(self, top: float) -> tuple[list[str], float]:
        """Return the list of limits, and the height of the picture."""
        right = WIDTH - 4
        parts = [svg.text(4, top, "Limits of all jobs together", QUIET)]
        parts.append(svg.text(right, top, "steps/s", QUIET, "end"))
        y = top
        for name, words, value in self._listed():
            y += LISTED
            look: dict[str, Any] = {"font_weight": 700} if name == self.limit else {}
            if look:
                parts.append(svg.box(0, y - 13, WIDTH, LISTED, BLUE_SOFT, rx=3))
            parts.append(svg.text(4, y, words, **look))
            parts.append(svg.text(right, y, value, INK, "end", **look))
        y += LISTED + 2
        parts.append(svg.line(0, y - 14, WIDTH, y - 14, LINE))
        parts.append(svg.text(4, y, f"all jobs in the model ({self.total / self.alone:.2f} × one alone)"))
        parts.append(svg.text(right, y, _rate(self.total), INK, "end"))
        return parts, y + 8

    def _listed(self) -> list[tuple[str, str, str]]:
        """Return a row for each limit: its name, as `limit` has it, its words and its steps a second."""
        kernel, gap = (_milliseconds(self.values[name]) for name in ("kernel", "gap"))
        part = f" × {self.longer:.3g}" if self.longer > 1 else ""
        words = {
            "job": f"no job waits: {len(self.started)} ÷ ({gap} + {kernel}{part})",
            "cores": f"CPU cores: {self.cores} ÷ {gap}",
            "slices": f"time slices: {sum(map(bool, self.instances))} ÷ {f'({kernel}{part})' if part else kernel}",
            "multiprocessors": f"multiprocessors: 100 % ÷ ({self.values['share']} % × {kernel})",
        }
        rows = []
        for name, value in self.bounds().items():
            # Where an instance makes kernels longer, the row of the job is what the multiprocessors allow.
            own = name == "job" and (
                self.limit in OWN or (self.limit == "multiprocessors" and self.mode != "MPS")
            )
            rows.append((self.limit if own else name, words[name], _rate(value)))
        count = INSTANCES[self.mode]
        has, needs = self.values["gpu_memory"] / count, self.values["memory"]
        fit = f"{_gigabytes(has)} ÷ {_gigabytes(needs)} a job"
        words["memory"] = f"memory: {fit}" if count == 1 else f"memory: {count} instances × ({fit})"
        rows.append(("memory", words["memory"], _counted(count * int(has // needs), "job")))
        return rows

    def table(self) -> Table:
        """Return the jobs with their steps and how they spend their time; the limits are below."""
        head = (
            "job",
            "steps/s",
            "of a job alone",
            "gap",
            "waits for a core",
            "kernel",
            "waits for the GPU",
        )
        rows = []
        for job in self._order():
            if job not in self.started:
                rows.append((self._name(job), "does not fit in memory", *["–"] * (len(head) - 2)))
                continue
            at = self.started.index(job)
            spent = [_percent(self.schedule.times[kind][at] / self.schedule.period) for kind in KINDS]
            rows.append(
                (self._name(job), _rate(self.rates[job]), _percent(self.rates[job] / self.alone), *spent)
            )
        remarks = tuple(
            f"{words}: {value}{'' if name == 'memory' else ' steps/s of all jobs at most'}"
            for name, words, value in self._listed()
        )
        caption = "Steps a second of each job, and how it spends its time, computed by the model"
        return Table(caption, head, tuple(rows), tuple(range(1, len(head))), remarks)


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" + "s" * (count != 1)


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _milliseconds(microseconds: int) -> str:
    return f"{microseconds / 1000:g} ms"


def _gigabytes(value: float) -> str:
    return f"{value:g} GB"


def explore_sharing(
    case: str = "own",
    jobs: int = 3,
    mode: str = "slices",
    kernel: int = 1000,
    gap: int = 1000,
    share: int = 30,
    memory: int = 2,
    gpu_memory: int = 8,
    cores: int = 8,
) -> Explorer[SharingPicture]:
    """Show how several jobs share one GPU, by time slices, MPS or MIG, and what limits them; sliders move every value.

    A job repeats a step: a gap, in which a CPU core works, then a kernel. All jobs are alike. A model computes their
    schedule from NVIDIA's documented rules: without MPS the GPU runs kernels of one process at a time, with MPS kernels of
    several processes share the multiprocessors, and a MIG instance has a fixed part of the multiprocessors and of the
    memory. Nothing is run. The model leaves out that kernels slow each other down by sharing memory bandwidth.

    Parameters
    ----------
    case
        "own": the job and the GPU of the parameters below. "two": two jobs run as one, three do not. "small" and "large":
        a small and a large job on a GPU of 96 GB. These three cases overrule `kernel`, `gap`, `share`, `memory` and
        `gpu_memory`.
    jobs
        How many jobs start, 1 to 8.
    mode
        "slices": time slices, without MPS. "MPS". "MIG 2" and "MIG 4": MIG with two or four equal instances.
    kernel, gap
        The parts of a step in microseconds, 50 to 20,000. The kernel's time is that alone on the whole GPU.
    share
        The share of the GPU's multiprocessors that a kernel fills, 1 to 100 percent.
    memory, gpu_memory
        The memory of a job, 1 to 192 GB, with its CUDA context, and of the GPU, 4 to 192 GB.
    cores
        CPU cores, 1 to 16.

    Raises
    ------
    ValueError
        If a value is not one of these.

    Examples
    --------
    >>> explorer = h2d.explore_sharing(jobs=3)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    3 jobs, time slices, 8 CPU cores. Each job makes 333 steps a second, 67 % of a job alone on the GPU (500)...
    """
    return Explorer(SharingPicture(case, jobs, mode, kernel, gap, share, memory, gpu_memory, cores))
