"""The sharing explorer: its schedule against a simulation by microseconds, what each limit says, and its two faces."""

import itertools
import random

import pytest

import host_to_device as h2d
from host_to_device.exploring import sharing
from host_to_device.exploring.sharing import CASE_VALUES, CASES, KINDS, MODES, SharingPicture, simulate

CONTROLS = SharingPicture.controls


def by_microseconds(instances, until, *, size, kernel, gap, share, cores, together, slice_length):
    """Return what each job does in each microsecond: (kind, percent of the multiprocessors)."""
    jobs = sorted(job for each in instances for job in each)
    where = {job: at for at, each in enumerate(instances) for job in each}
    phase, left, said = dict.fromkeys(jobs, "core"), dict.fromkeys(jobs, 0), {job: [] for job in jobs}
    queue_core, queues = list(jobs), [[] for _ in instances]
    spent = [0 for _ in instances]
    for _ in range(until):
        while queue_core and sum(each == "gap" for each in phase.values()) < cores:
            job = queue_core.pop(0)
            phase[job], left[job] = "gap", gap
        used = dict.fromkeys(jobs, 0)
        for queue in queues:
            free = size
            for place, job in enumerate(queue):
                if together or place == 0:
                    used[job] = min(share, free)
                    free -= used[job]
        for job in jobs:
            kind = phase[job] if phase[job] != "gpu" else "kernel" if used[job] else "gpu"
            said[job].append((kind, used[job]))
        ended, first = [], [queue[0] if queue else None for queue in queues]
        for at, queue in enumerate(queues):
            for job in list(queue):
                left[job] -= used[job]
                if used[job] and left[job] <= 0:
                    queue.remove(job)
                    ended.append(job)
            spent[at] += 1
            if first[at] is None or first[at] not in queue:
                spent[at] = 0
        for job in jobs:
            if phase[job] == "gap":
                left[job] -= 1
                if not left[job]:
                    phase[job], left[job] = "gpu", kernel * share
                    queues[where[job]].append(job)
        for at, queue in enumerate(queues):
            if not together and spent[at] == slice_length:
                queue.append(queue.pop(0))
                spent[at] = 0
        for job in ended:
            phase[job] = "core"
            queue_core.append(job)
    return said


def drawn_by(seed):
    """A random small machine: whole microseconds, kernels up to some slices long."""
    draw = random.Random(seed)
    mode = draw.choice(list(MODES))
    count = sharing.INSTANCES[mode]
    jobs = draw.randint(1, 8)
    how = {
        "size": 100 // count,
        "kernel": draw.randint(1, 14),
        "gap": draw.randint(1, 14),
        "share": draw.choice([10, 25, 30, 45, 60, 100, draw.randint(1, 100)]),
        "cores": draw.choice([1, 2, 3, 8]),
        "together": mode == "MPS",
    }
    return [list(range(at, jobs, count)) for at in range(count)], how


@pytest.mark.parametrize("seed", range(60))
def test_the_schedule_is_that_of_a_simulation_by_microseconds(seed, monkeypatch):
    monkeypatch.setattr(sharing, "SLICE", 5)
    instances, how = drawn_by(seed)
    found = simulate(instances, 400, **how)
    plain = by_microseconds(instances, 400, **how, slice_length=5)
    mine = {job: [] for job in plain}
    for each in found.parts:
        assert each.start == len(mine[each.job]) or each.start >= 400, "a job does one thing at a time"
        mine[each.job] += [(each.kind, each.used)] * (each.end - each.start)
    assert {job: each[:400] for job, each in mine.items()} == plain


@pytest.mark.parametrize("seed", range(20))
def test_the_numbers_are_those_of_a_long_simulation(seed, monkeypatch):
    monkeypatch.setattr(sharing, "SLICE", 5)
    instances, how = drawn_by(seed)
    found = simulate(instances, 1, **how)
    assert found.repeats
    assert all(sum(found.times[kind][at] for kind in KINDS) == found.period for at in range(len(found.steps)))
    long = simulate(instances, 6_000, **how).parts
    for at, (job, steps) in enumerate(zip(sorted(itertools.chain(*instances)), found.steps, strict=True)):
        gaps = [each for each in long if each.job == job and each.kind == "gap" and each.start > 1_000]
        rate = (len(gaps) - 1) / (gaps[-1].start - gaps[0].start)
        assert rate == pytest.approx(steps / found.period, rel=0.02)
        kernels = sum(each.end - each.start for each in long if each.job == job and each.kind == "kernel")
        assert kernels / 6_000 == pytest.approx(found.times["kernel"][at] / found.period, abs=0.02)
    if len([each for each in instances if each]) == 1:
        busy = set()
        for each in long:
            busy |= set(range(each.start, each.end)) if each.used else set()
        assert len(busy) / 6_000 == pytest.approx(found.busy / found.period, abs=0.02)


def pictures(count, **fixed):
    draw = random.Random(7)
    for _ in range(count):
        values = {
            "jobs": draw.randint(1, 8),
            "mode": draw.choice(list(MODES)),
            "kernel": draw.choice([100, 500, 1000, 2000]),
            "gap": draw.choice([100, 500, 1000, 2000]),
            "share": draw.randint(1, 100),
            "memory": 1,
            "gpu_memory": 96,
            "cores": draw.randint(1, 8),
        }
        yield SharingPicture(**values | fixed)


def test_no_limit_is_exceeded_and_one_of_them_is_reached_where_kernels_fit_a_slice():
    reached = 0
    for picture in pictures(60):
        least = min(picture.bounds().values())
        assert picture.total <= least * 1.0001
        if picture.mode == "slices":  # jobs in turn, none is interrupted
            assert picture.total == pytest.approx(least)
            reached += 1
    assert reached > 10


def test_two_run_as_one_and_three_slow_down():
    two, three, four = (SharingPicture("two", jobs=jobs) for jobs in (2, 3, 4))
    assert set(two.rates.values()) == {500.0} and two.limit == "gap"
    assert three.limit == "slices" and three.total == two.total == four.total == 1000
    assert three.rates[0] / three.alone == pytest.approx(2 / 3)
    # The multiprocessors are not what is short, although GPU-Util says 100 %.
    assert three.utilisation == 1 and three.busy == pytest.approx(0.3)
    assert SharingPicture("two", jobs=3, mode="MPS").rates[2] == 500
    eight = SharingPicture("two", jobs=8)
    assert eight.started == [0, 1, 2, 3] and eight.warns
    assert "4 of 8 jobs do not start, because each needs 2 GB and the GPU has 8 GB" in eight.summary()
    own = SharingPicture(jobs=3)
    assert own.svg() == three.svg(), "the sliders begin with this case"


def test_four_instances_gain_with_small_jobs_and_lose_with_a_large_one():
    small = SharingPicture("small", jobs=4, mode="MIG 4")
    assert small.total == pytest.approx(4 * small.alone)
    assert SharingPicture("small", jobs=4).total == pytest.approx(1.2 * small.alone)
    assert SharingPicture("small", jobs=8, mode="MIG 4").total < 5 * small.alone
    large = SharingPicture("large", jobs=1, mode="MIG 4")
    assert large.limit == "multiprocessors" and large.longer == 4
    assert large.total == pytest.approx(1e6 / (200 + 16_000)) and large.total < 0.26 * large.alone
    assert large.busy < 0.25
    assert SharingPicture("large", jobs=4, mode="MIG 4").total < SharingPicture("large", jobs=4).total
    assert "not given" in large.svg() and "NVML gives no GPU-Util in MIG mode" in large.summary()


def test_each_limit_is_named():
    named = {
        "gap": SharingPicture(jobs=1, gap=3000),
        "kernel": SharingPicture(jobs=1, kernel=3000),
        "cores": SharingPicture("two", jobs=4, mode="MPS", cores=1),
        "slices": SharingPicture("small", jobs=2),
        "multiprocessors": SharingPicture("large", jobs=2, mode="MPS"),
        "memory": SharingPicture(jobs=1, memory=9, gpu_memory=8),
    }
    assert {name: picture.limit for name, picture in named.items()} == {name: name for name in named}
    for name, words in {
        "gap": "most of which is the gap",
        "kernel": "most of which is the kernel",
        "cores": "a job waits for a free core for 50 % of its time",
        "slices": "a job waits for the GPU for 40 % of its time",
        "multiprocessors": "waiting for them and slower kernels take",
        "memory": "1 of 1 job does not start, because each needs 9 GB and the GPU has 8 GB",
    }.items():
        assert words in named[name].summary()
        assert named[name].svg().count('font-weight="700"') == 2, "a limit and its number are bold"
    assert named["memory"].total == 0 and "nan" not in named["memory"].svg()


def test_memory_of_an_instance_is_a_part_of_the_gpu():
    picture = SharingPicture(jobs=8, mode="MIG 2", memory=3, gpu_memory=16)
    assert picture.instances == [[0, 2], [1, 3]] and picture.warns
    assert "4 of 8 jobs do not start, because each needs 3 GB and an instance has 8 GB" in picture.summary()
    assert SharingPicture(jobs=4, mode="MIG 4", memory=5, gpu_memory=16).started == []
    assert len(SharingPicture(jobs=4, memory=5, gpu_memory=16).started) == 3


def test_jobs_of_unequal_instances_are_told_apart():
    picture = SharingPicture("small", jobs=3, mode="MIG 2")
    assert picture.rates == pytest.approx({0: 500, 2: 500, 1: 1e6 / 1200})
    assert "A job makes 500 to 833 steps a second, 60 % to 100 %" in picture.summary()
    assert [row[0] for row in picture.table().rows] == [
        "job 1 in instance A",
        "job 3 in instance A",
        "job 2 in instance B",
    ]


def test_a_schedule_that_does_not_return_soon_is_averaged(monkeypatch):
    exact = SharingPicture("small", jobs=3, mode="MIG 2")
    assert exact.schedule.repeats
    monkeypatch.setattr(sharing.Machine, "state", lambda self: self.now)  # never the same again
    averaged = SharingPicture("small", jobs=3, mode="MIG 2")
    assert not averaged.schedule.repeats
    assert averaged.rates == pytest.approx(exact.rates, rel=2e-3)


def test_a_case_overrules_the_sliders_of_the_job():
    for case, values in CASE_VALUES.items():
        assert SharingPicture(case, kernel=60, gap=70, share=1, memory=4, gpu_memory=5).values == values
    assert SharingPicture(kernel=60).values["kernel"] == 60 and set(CASES) == {"own", *CASE_VALUES}


def test_table_and_alternative_text_have_the_numbers():
    picture = SharingPicture("two", jobs=3)
    assert picture.table().rows[0] == ("job 1", "333", "67 %", "33 %", "0 %", "33 %", "33 %")
    assert picture.table().remarks == (
        "no job waits: 3 ÷ (1 ms + 1 ms): 1,500 steps/s of all jobs at most",
        "CPU cores: 8 ÷ 1 ms: 8,000 steps/s of all jobs at most",
        "time slices: 1 ÷ 1 ms: 1,000 steps/s of all jobs at most",
        "memory: 8 GB ÷ 2 GB a job: 4 jobs",
    )
    assert "job 2: gap until 1 ms, waits for the GPU until 2 ms, kernel until 3 ms" in picture.alt()
    assert "job 8: does not fit in memory" in SharingPicture("two", jobs=8).alt()


@pytest.mark.parametrize("mode", MODES)
def test_both_ends_of_every_slider_draw_a_picture(mode):
    for name, value in itertools.product(CONTROLS, ("low", "high")):
        if name in ("case", "mode"):
            continue
        picture = SharingPicture(mode=mode, **{name: getattr(CONTROLS[name], value)})
        svg = picture.svg()
        assert svg.count("<svg") == 1 and "nan" not in svg and picture.summary() in picture.alt()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("jobs", 9, "give a whole number from 1 to 8"),
        ("jobs", 2.5, "give a whole number from 1 to 8"),
        ("kernel", 10, "give a whole number from 50 to 20,000 µs"),
        ("gap", "1 ms", "give a whole number from 50 to 20,000 µs"),
        ("share", 0, "give a whole number from 1 to 100 %"),
        ("memory", 0, "give a whole number from 1 to 192 GB"),
        ("gpu_memory", 3, "give a whole number from 4 to 192 GB"),
        ("cores", True, "give a whole number from 1 to 16"),
        ("mode", "MIG 7", "give one of 'slices', 'MPS', 'MIG 2', 'MIG 4'"),
        ("case", "three", "give one of 'own', 'two', 'small', 'large'"),
    ],
)
def test_what_is_no_value_is_refused_by_name(name, value, says):
    with pytest.raises(ValueError, match=f"{name} is .*: {says}"):
        h2d.explore_sharing(**{name: value})


def test_sliders_and_menus_redraw_the_picture():
    explorer = h2d.explore_sharing()
    case, jobs, mode, *_, view = explorer.widget().children
    assert "67 % of a job alone" in view.value
    jobs.value = 2
    assert "100 % of a job alone" in view.value
    case.value, jobs.value, mode.value = "small", 4, "MIG 4"
    assert explorer.picture.case == "small" and "4.00 times one job alone" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_sharing()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and bundle["text/plain"].startswith("3 jobs, time slices")
