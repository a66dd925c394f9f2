"""Pasted texts: what they state, any bytes without a crash, and long ones in time."""

import random
import time
import tomllib
from pathlib import Path

import pytest

from host_to_device.diagnosing import doctor, pasting
from host_to_device.diagnosing import facts as reading
from tests.commands import diagnosing as figures

SMI = """
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
|   0  Tesla T4                       Off | 00000000:00:04.0 Off |                    0 |
| N/A   39C    P8               9W /  70W |      0MiB / 15360MiB |      0%      Default |
|   1  NVIDIA GeForce RTX 4090        Off | 00000000:05:00.0 Off |                    0 |
"""
NEW_SMI = "| NVIDIA-SMI 610.43.02       KMD Version: 610.43.02     CUDA UMD Version: 13.3     |"
ENVIRONMENT = """PyTorch version: 2.5.1+cu124
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A
OS: Microsoft Windows 11 Pro
Python version: 3.11.9 (main)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3060
Nvidia driver version: 551.61
[pip3] numpy==1.26.4
[pip3] torchvision==0.20.1+cu124
"""
CONDA = """# Name     Version    Build    Channel
numba      0.61.2     py312h_0   conda-forge
pytorch    2.3.1      py3.11_cuda12.1_cudnn8.9.2_0  pytorch
"""


def stated(text):
    return {name: fact.value for name, fact in reading.read(text).items()}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            SMI,
            {
                "driver": "535.104.05",
                "driver_cuda": "12.2",
                "gpus": "2",
                "gpu_name": "Tesla T4",
                "capability": "7.5",
            },
        ),
        (NEW_SMI, {"driver": "610.43.02", "driver_cuda": "13.3"}),
        (
            ENVIRONMENT,
            {
                "torch": "2.5.1+cu124",
                "torch_cuda": "12.4",
                "torch_kind": "cuda",
                "platform": "windows",
                "gpu_name": "NVIDIA GeForce RTX 3060",
                "driver": "551.61",
                "numpy": "1.26.4",
                "torchvision_wants": "2.5",
                "torch_available": "False",
            },
        ),
        (
            CONDA,
            {
                "numba": "0.61.2",
                "numba_numpy": "2.2",
                "torch": "2.3.1",
                "torch_cuda": "12.1",
                "torch_kind": "cuda",
            },
        ),
        (
            "torch==2.5.1+cpu\ncupy-cuda11x==13.3.0",
            {"torch_kind": "cpu", "cupy_cuda": "11", "cupy_packages": "1"},
        ),
        ("torch==2.5.1+rocm6.2", {"torch_kind": "rocm"}),
        ("(found version 11040). too old (found version 11040)", {"driver_cuda": "11.4"}),
        ("Cuda compilation tools, release 12.4, V12.4.131", {"toolkit": "12.4", "toolkit_major": "12"}),
    ],
)
def test_facts_of_a_report(text, facts):
    assert stated(text).items() >= facts.items()


@pytest.mark.parametrize("text", ["", "torch is slow", "numpy is 2.0", "Driver Version: none", "GPU 0: idle"])
def test_a_text_that_states_nothing_gives_no_fact(text):
    assert stated(text) == {"pasted": "yes"}


def test_versions_of_two_reports_lead_to_a_diagnosis():
    found = [each.id for each in doctor(SMI + "\ntorch==2.11.0+cu130").findings]
    assert found == ["driver-too-old-for-runtime"]
    assert not doctor(NEW_SMI + "\ntorch==2.11.0+cu130").findings


def test_what_is_newer_than_the_tables_is_not_known_yet():
    diagnosis = doctor("| NVIDIA-SMI 999.10.01    Driver Version: 999.10.01 |\ntorch 9.1.0+cu990\nTesla T4")
    assert not diagnosis.findings
    assert [note.count("not known yet") for note in diagnosis.notes] == [1, 1]
    assert "driver_cuda" not in diagnosis.facts


def test_nothing_known_says_what_to_paste_next():
    said = str(doctor("ValueError: shapes (3,) and (4,) not aligned"))
    assert "Nothing known" in said and "collect_env" in said and "nvidia-smi" in said


def test_a_finding_quotes_the_text_and_fills_its_command():
    [first, *_] = doctor(SMI + "torch 2.11.0+cu130\nCUDA used to build PyTorch: 13.0").findings
    assert any("535.104.05" in words for words in first.evidence)
    assert "580 or newer" in first.cure and "whl/cu126" in first.cure
    assert first.address.startswith("https://") and "#ss-driver" in first.address


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp949", "latin-1"]
)
def test_any_encoding(encoding):
    text = "C:\\> nvidia-smi\nRuntimeError: CUDA out of memory. " + (
        "메모리가 부족합니다" if encoding != "latin-1" else "été"
    )
    assert [each.id for each in doctor(text.encode(encoding)).findings] == ["out-of-memory"]


def test_colours_wrapped_lines_and_quotations_do_not_hide_a_message():
    for text in (
        "\x1b[31mCUDA\x1b[0m out of\n   memory",
        "CUDA out\r\nof memory.",
        "CUDA\u00a0out of memory",
    ):
        assert [each.id for each in doctor(text).findings] == ["out-of-memory"], text


def test_only_text_or_bytes():
    with pytest.raises(TypeError, match="text or bytes"):
        doctor(3)


# -- never a crash, never for long


def pieces():
    return [case["text"].encode(case.get("encoding", "utf-8")) for _, case in figures.cases()]


def test_no_bytes_crash_it():
    """Random bytes, and reports that are cut, merged and damaged; the same ones at each run."""
    chance, texts = random.Random(7), pieces()
    for _ in range(150):
        text = b"".join(chance.choices(texts, k=chance.randrange(1, 4)))
        start = chance.randrange(len(text))
        text = bytearray(text[start : start + chance.randrange(1, 4000)])
        for _ in range(chance.randrange(12)):
            text[chance.randrange(len(text))] = chance.randrange(256)
        diagnosis = doctor(bytes(text) + chance.randbytes(chance.randrange(40)))
        assert str(diagnosis)
        for finding in diagnosis.findings:
            assert finding.evidence and finding.cause and finding.cure
    for size in (0, 1, 2, 3, 1000):
        assert doctor(chance.randbytes(size)).findings == ()


@pytest.mark.parametrize(
    "kind",
    ["letters", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bytes", "words", "one line"))],
)
def test_ten_megabytes_of_noise_take_two_seconds_at_most(kind):
    chance = random.Random(3)
    noise = {
        "bytes": lambda: chance.randbytes(10_000_000),
        "letters": lambda: "".join(chance.choices("abcdefghijkl mnopqrstu vwxyz\n", k=10_000_000)).encode(),
        "words": lambda: " ".join(
            chance.choices(["cuda", "error", "torch", "libcudart.so", "|", "0", "%", "in", "\n"], k=2_000_000)
        ).encode(),
        "one line": lambda: b"CUDA_VISIBLE_DEVICES" * 500_000,
    }[kind]()
    doctor("the rules are read")
    start = time.process_time()
    assert not doctor(noise).findings
    assert time.process_time() - start < 2


def test_a_message_in_noise_is_found():
    chance = random.Random(5)
    noise = "".join(chance.choices("abcdefghijkl mnopqrstu vwxyz\n", k=1_000_000))
    assert [each.id for each in doctor(f"{noise}\nRuntimeError: CUDA out of memory.\n{noise}").findings] == [
        "out-of-memory"
    ]
    assert len(pasting.shortened(noise * 4)) < pasting.LONG * 1.01


# -- the corpus


def test_the_corpus_gets_what_it_was_made_to_get():
    """What was reached on 2026-11-26; before the rules had seen the first 256 texts: precision 0.933, recall 0.879."""
    score = figures.score()
    assert score.texts >= 330 and score.nothing >= 76
    assert score.invented == 0, score.remarks
    assert score.precision >= 1.0, score.remarks
    assert score.recall >= 1.0, score.remarks
    assert score.first == score.with_cause, score.remarks
    assert score.cured == score.cures, score.remarks


def test_the_figures_count_what_is_wrong():
    """The score notices a false diagnosis, a missed cause, and a diagnosis where there is none to be made."""
    case = tomllib.loads('name = "x"\nexpect = ["launch-timeout"]\ntext = "CUDA out of memory"')
    nothing = {"name": "y", "expect": [], "text": "CUDA out of memory"}
    score = figures.score([("one", case), ("nothing", nothing)])
    assert (score.right, score.false, score.missed, score.first, score.invented) == (0, 2, 1, 0, 1)
    assert (score.precision, score.recall, len(score.remarks)) == (0, 0, 2)
    assert Path(figures.CORPUS).is_dir()


@pytest.mark.parametrize(
    ("found", "there", "absent"),
    [("11040", "whl/cu118` (CuPy: \"cupy-cuda11x<14\")", "cu126"), ("12020", "whl/cu126` (CuPy: cupy-cuda12x)", "cu118"),
     ("10020", "here, only the update helps", "cu118")],
)  # fmt: skip
def test_the_cure_for_an_old_driver_names_builds_that_this_driver_runs(found, there, absent):
    text = f"The NVIDIA driver on your system is too old (found version {found})."
    (finding,) = doctor(text).findings
    assert there in finding.cure
    assert absent not in finding.cure
