"""The ten messages of the game: each has an origin that holds, and exactly one right cause."""

import re
from pathlib import Path

import pytest

import host_to_device as h2d
from book import error_game, raised

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = error_game.load()
CHAPTER = re.compile(r"\{ref\}`(er-[\w-]+)`")


def test_there_are_ten_messages_and_they_differ():
    assert len(MESSAGES) == 10 == len({each.text for each in MESSAGES})
    places = {next(at for at, cause in enumerate(each.causes) if cause.right) for each in MESSAGES}
    assert len(places) > 2, "the right cause stands at different places"


def test_every_message_says_where_it_is_from():
    bibliography = (ROOT / "references.bib").read_text(encoding="utf-8")
    for each in MESSAGES:
        assert each.origin.startswith(
            ("Raised in our tests without a GPU: ", "Raised by PyTorch on the stand-in", "Documented: ")
        )
        cited = re.findall(r"\{cite\}`([\w-]+)`", each.origin)
        assert len(cited) == each.origin.startswith("Documented")
        assert all(f"{{{key}," in bibliography for key in cited)
    stored = {raised.text(each) for each in raised.stored()["errors"]}
    assert sum(each.text in stored for each in MESSAGES) == 5


def test_what_was_provoked_is_raised_again():
    torch = pytest.importorskip("torch")
    provoked = [each for each in MESSAGES if each.origin.startswith("Raised by PyTorch")]
    assert provoked
    for each in provoked:
        with pytest.raises(RuntimeError) as problem:
            exec(each.program, {"torch": torch, "device": h2d.device()})
        assert f"RuntimeError: {problem.value}" == each.text


def test_every_cause_is_explained_and_the_right_one_leads_to_the_lesson():
    for each in MESSAGES:
        for cause in each.causes:
            assert cause.text.endswith(".") and len(cause.why.split()) > 8
            assert bool(CHAPTER.search(cause.why)) == cause.right, cause.text


def complete(**changed):
    causes = [
        {"text": "A.", "why": "Because."},
        {"text": "B.", "why": "Because.", "right": True},
        {"text": "C.", "why": "No."},
    ]
    return {"source": "a-report", "said": "PyTorch", "text": "Oh.", "cause": causes} | changed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"raised": "out of memory cupy"}, "a message has one origin"),
        ({"source": None}, "a message has one origin"),
        ({"cause": complete()["cause"][:2]}, "3 or 4 causes, and exactly one"),
        (
            {"cause": [each | {"right": True} for each in complete()["cause"]]},
            "3 or 4 causes, and exactly one",
        ),
    ],
)
def test_an_incomplete_message_is_refused(changed, said):
    whole = {name: value for name, value in complete(**changed).items() if value is not None}
    with pytest.raises(ValueError, match=said):
        error_game.message(whole)
    assert error_game.message(complete()).text == "Oh."


def test_an_unknown_error_is_named_with_file_and_message(tmp_path):
    file = tmp_path / "messages.toml"
    cause = '[[message.cause]]\ntext = "A."\nwhy = "B."\n'
    file.write_text(f'[[message]]\nraised = "out of money cupy"\n{cause}{cause}{cause}right = true\n')
    with pytest.raises(ValueError, match=r"messages.toml, message 1: no error 'out of money' of 'cupy'"):
        error_game.load(file)
