"""The keys of the sample exams: each answer is computed again, on the stand-in where a program is asked about."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = tomllib.loads((ROOT / "book" / "exams.toml").read_text(encoding="utf-8"))
KEY = tomllib.loads((ROOT / "solutions" / "exams" / "key.toml").read_text(encoding="utf-8"))

START = """
import host_to_device as h2d
h2d.start()
import warnings
warnings.simplefilter("ignore")
import cupy as cp, numpy as np, torch
from numba import cuda, float32
device = h2d.device()
@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]
x = np.zeros(1000, np.float32)
out = np.zeros_like(x)
a = cp.arange(1000, dtype=cp.float32)
data = torch.ones(10, device=device)
print(); print("answers begin")
"""


def indented(code):
    return "".join(f"    {line}\n" for line in code.strip().splitlines())


def test_every_question_has_its_answer_in_the_key():
    assert QUESTIONS.keys() == KEY.keys()


def test_every_answer_is_what_its_code_computes(tmp_path):
    program = START
    for name, entry in KEY.items():
        code = QUESTIONS[name].get("code", "").strip()
        program += f"with h2d.count() as c:\n{indented(code)}" if entry.get("counted") else f"{code}\n"
        program += f"\nprint({name!r}, end=': ')\n{entry['computed']}\n"
    path = tmp_path / "exam.py"  # the stand-in reads a kernel's source
    path.write_text(program, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "H2D_MACHINE": "stand-in"}
    done = subprocess.run(
        [sys.executable, path], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout.partition("answers begin\n")[2]
    lines = [line for line in said.splitlines() if line.partition(":")[0] in KEY]
    assert lines == [f"{name}: {entry['answer']}" for name, entry in KEY.items()]
