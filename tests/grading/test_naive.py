"""What the attacks do to a naive grader, which has no sandbox and no shelter: each scores there, or does harm.

The naive grader (`naive`) is itself inside a bubblewrap, which protects this machine, and in which there are a file and
a solution of another student for the attack to find. `without_sandbox.json` records what each attack did there:
`python -m tests.grading.test_naive [NAME …]` tries the attacks and writes it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from host_to_device.grading import sandbox
from host_to_device.grading.watching import descendants
from tests.exercises.test_sets import ROOT
from tests.grading import attacks

SECONDS = 25  # of the processor, for a grader; an honest notebook takes some three
PATH = Path(__file__).with_name("without_sandbox.json")
RECORD = json.loads(PATH.read_text(encoding="utf-8"))
CHEATS = [each.name for each in attacks.CHEATS]
NOTEBOOKS = {each.name: attacks.notebook(each.code()) for each in attacks.ALL}
READABLE = ("a wrong kernel", "another set's", "huge")  # any grader can read these
BROKEN = {name: content for name, content in attacks.files().items() if name not in READABLE}
EVERY = NOTEBOOKS | {f"a file: {name}": content for name, content in BROKEN.items()}
FILES = [name for name in EVERY if name not in NOTEBOOKS]
HARMS = [each.name for each in attacks.HARMS]


def effects(names, folder, seconds):
    """Give notebooks to the naive grader, as one batch; return for each "scores", what harm it does, or "nothing"."""
    others, result, course = folder / "others", folder / "work" / "result.json", folder / "course"
    (others / "solutions").mkdir(parents=True)
    (others / "marks.csv").write_text("Ana,2\n")
    shutil.copy(next((ROOT / "solutions").glob("02-*.ipynb")), others / "solutions")
    (folder / "batch").mkdir()
    for place, name in enumerate(names):
        (folder / "batch" / f"{place:03}").write_bytes(EVERY[name])
    result.parent.mkdir()
    shutil.copytree(ROOT / "host_to_device", course / "host_to_device")
    shutil.copy(Path(__file__).with_name("naive.py"), course)
    (course / "solutions").mkdir()
    libraries = [word for each in ("/usr", "/etc/alternatives") for word in ("--ro-bind", each, each)]
    python = [each for each in {sys.base_prefix, sys.prefix} if not each.startswith("/usr/")]
    settings = {
        "PYTHONPATH": "/course",
        "OMP_NUM_THREADS": "1",
        "HOME": "/tmp/home",
        "H2D_MACHINE": "stand-in",
    }
    words = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc"),
        *("--dev", "/dev", "--size", str(2**28), "--tmpfs", "/tmp", "--dir", "/tmp/home", *libraries),
        *(word for name in sandbox.LINKS if Path("/", name).is_symlink() for word in sandbox._link(name)),
        *(word for each in python for word in ("--ro-bind", each, each)),
        *("--bind", str(course), "/course", "--ro-bind", str(ROOT / "solutions"), "/course/solutions"),
        *("--bind", str(others), "/tmp/others", "--bind", str(result.parent), "/result"),
        *("--ro-bind", str(folder / "batch"), "/batch"),
        *(word for name, value in settings.items() for word in ("--setenv", name, value)),
        *("--setenv", "H2D_PROGRESS", "off", "--chdir", "/tmp/home", "--"),
        *(sys.executable, "-P", "-s", "/course/naive.py", "/batch", "/result/result.json"),
    ]
    limits = sandbox.Limits(memory=4 * 2**30, cpu=20 * SECONDS)
    with open(os.environ.get("NAIVE_LOG", os.devnull), "ab") as log, subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=log, stderr=log, preexec_fn=limits.set, start_new_session=True
    ) as process:  # fmt: skip
        otherwise = "harms: the grader ends"
        if hangs(process, seconds):
            os.killpg(process.pid, 9)
            otherwise = "harms: the grader hangs"
    found = json.loads(result.read_text()) if result.exists() else {}
    return {
        name: effect(found[f"{place:03}"]) if f"{place:03}" in found else otherwise
        for place, name in enumerate(names)
    }


def hangs(process, seconds):
    """Wait for a process; return whether it hangs.

    It hangs when it and its children have used `seconds` of CPU time, or have used none for as long. A limit on the clock
    alone would also count the time for which a busy machine lets the grader wait.
    """
    used, changed = 0.0, time.monotonic()
    while time.monotonic() - changed < seconds:
        try:
            process.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            now = processor_seconds(process.pid)
        if now >= seconds:
            return True
        if now > used + 0.1:
            used, changed = now, time.monotonic()
    return True


def processor_seconds(process):
    """Return the seconds of the processor that a process, what it has started, and their ended children have used."""
    ticks = 0
    for each in descendants(process):
        with contextlib.suppress(OSError):
            fields = Path("/proc", str(each), "stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def effect(found):
    if found["marks"].get("02.1"):
        return "scores"
    harm = next((name for name, is_so in found["left"].items() if is_so), None)
    if harm is None and not found["marks"].get("02.a"):
        harm = "the honest answer earns nothing"
    return f"harms: {harm}" if harm else "nothing"


def tried(names, seconds=SECONDS):
    with tempfile.TemporaryDirectory() as folder:
        return effects(names, Path(folder), seconds)


@pytest.mark.slow
@pytest.mark.parametrize("names", [CHEATS, FILES, *([each] for each in HARMS)], ids=lambda names: names[-1])
def test_an_attack_does_to_a_naive_grader_what_is_recorded(names):
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    assert tried(names, SECONDS + 5 * len(names)) == {name: RECORD.get(name) for name in names}


def test_at_least_eighty_attacks_prove_something():
    assert list(RECORD) == list(EVERY) and len(RECORD) >= 80
    assert {RECORD[name] for name in CHEATS} == {"scores"}
    assert all(RECORD[name].startswith("harms: ") for name in [*HARMS, *FILES])


def test_the_naive_grader_tells_right_from_wrong(tmp_path):
    words = [
        sys.executable,
        "-c",
        "import host_to_device as h2d; h2d.start()\nfrom tests.grading import naive\n",
    ]
    words[-1] += "import sys; names = {'answer': naive.answer}; path = sys.argv[1]\n"
    words[-1] += "exec(compile(open(path).read(), path, 'exec'), names); exec('answer(\"02.1\")', names)"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "H2D_MACHINE": "stand-in"}
    for code, right in ((attacks.SAXPY, True), (attacks.ZERO, False)):
        path = tmp_path / f"{right}.py"  # a kernel needs a file with its source
        path.write_text(f"from numba import cuda\n{code}")
        done = subprocess.run([*words, path], env=environment, capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode == 0) == right and ("Wrong" in done.stderr) != right, done.stderr


def main(names):
    """Try the attacks of these names, or all, and write what they do."""
    found = dict(RECORD)
    for group in (CHEATS, FILES, *([each] for each in HARMS)):
        if batch := [name for name in group if name in names]:
            found |= tried(batch, SECONDS + 5 * len(batch))
            print(*(f"{name}: {found[name]}" for name in batch), sep="\n", flush=True)
    PATH.write_text(json.dumps({name: found[name] for name in EVERY if name in found}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(EVERY))
