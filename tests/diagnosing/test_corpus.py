"""The form of the texts for the doctor: `corpus/README.md` says how a case is made."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
KINDS = {
    "code",
    "collect-env",
    "conda-list",
    "error",
    "log",
    "mixed",
    "nvidia-smi",
    "pip-list",
    "prose",
    "shell",
}
FIELDS = {"name", "kind", "source", "expect", "allow", "cure", "encoding", "text"}


def causes():
    layers = tomllib.loads((CORPUS / "causes.toml").read_text("utf-8"))
    return {cause: sentence for layer in layers.values() for cause, sentence in layer.items()}


def cases():
    files = sorted(set(CORPUS.glob("*.toml")) - {CORPUS / "causes.toml"})
    return [(file.stem, case) for file in files for case in tomllib.loads(file.read_text("utf-8"))["case"]]


CASES = cases()
each_case = pytest.mark.parametrize(
    ("file", "case"), CASES, ids=[f"{file}-{case.get('name')}" for file, case in CASES]
)


@each_case
def test_a_case_is_whole(file, case):
    assert case.keys() <= FIELDS
    assert case["kind"] in KINDS
    assert case["text"].strip()
    case["text"].encode(case.get("encoding", "utf-8"))
    assert (case["expect"] == []) == (file == "nothing")
    if case["expect"]:
        assert case["source"].startswith("https://")
    else:
        assert not case.get("allow") and not case.get("cure")


@each_case
def test_a_case_names_known_causes_once(file, case):
    named = case["expect"] + case.get("allow", [])
    assert set(named) <= causes().keys()
    assert len(named) == len(set(named))


def test_names_and_texts_are_unique():
    for field in ("name", "text"):
        assert [
            value for value, times in Counter(case[field] for _, case in CASES).items() if times > 1
        ] == []


def test_each_cause_has_one_sentence():
    for cause, sentence in causes().items():
        assert cause == cause.lower() and " " not in cause
        assert sentence.endswith(".")


def test_no_source_serves_two_cases():
    sources = Counter(case["source"] for _, case in CASES if "source" in case)
    assert [source for source, times in sources.items() if times > 1] == []


def test_the_corpus_is_large_enough():
    ill = [case for _, case in CASES if case["expect"]]
    assert len(ill) >= 100
    assert len(CASES) - len(ill) >= 30
    assert len({case["expect"][0] for case in ill}) >= 50


def test_each_cause_has_a_case():
    assert causes().keys() - {cause for _, case in CASES for cause in case["expect"]} == set()
