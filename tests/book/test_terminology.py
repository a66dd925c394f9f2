"""One word for one thing: the texts that readers see are searched for the words of `terminology.toml`."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((Path(__file__).parent / "terminology.toml").read_text(encoding="utf-8"))
TERMS = {term["chosen"]: term for term in TABLE["term"]}

PAGES = [
    *sorted((ROOT / "chapters").glob("*.md")),
    *(ROOT / f"{name}.md" for name in ("index", "README", "CONTRIBUTING", "ARCHITECTURE")),
]
NOTEBOOKS = [
    path
    for folder in ("notebooks", "solutions", "exercises")
    for path in sorted((ROOT / folder).glob("*.ipynb"))
]
SOURCES = [
    path
    for folder in ("host_to_device", "book")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "node_modules" not in path.parts
]
DRAWINGS = sorted((ROOT / "book" / "drawings").glob("*.svg"))

# What is no prose of a page. Its line breaks stay, so that lines keep their numbers.
NO_PROSE = (
    r"(?ms)\A---\n.*?^---$",  # front matter, but for what it teaches
    r"(?ms)^([ \t]*)(`{3,})(?!\{glossary\}).*?^\1\2[ \t]*$",
    r"(?ms)^\$\$.*?^\$\$",
    r"<!--.*?-->",
    r"\{(?:cite|cite:t|measured|term)\}`[^`]*`",
    r"(?<=\])\([^)\s]*\)",  # where a link leads
    r"<https?://[^>]*>|https?://\S+",
    r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)",  # code in a line
    r"(?m)^\([\w-]+\)=$",
    r"(?m)^:(?!alt:)[\w-]+:.*$",
    r"[\w.-]*/[\w./-]+|\b[a-z_]+(?:\.[a-z_]+)+\b",  # paths and names of modules
)


def prose(markdown: str) -> str:
    """Return the text without code, links and names, line by line."""
    markdown = re.sub(r"\{[\w-]+\}`([^`<]+?)\s*<[^`>]*>`", r"\1", markdown)  # a reference keeps its words
    for pattern in NO_PROSE:
        markdown = re.sub(pattern, lambda found: "\n" * found[0].count("\n") or " ", markdown)
    return markdown


def sentences_of(code: str) -> list[tuple[int, str]]:
    """Return the docstrings and messages of Python code, each with its line: texts of three words and more."""
    texts = []
    tree = ast.parse(code)
    within = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            text = node.value
        else:
            continue
        if (
            len(re.findall(r"[A-Za-z]{2,}", text)) > 2
            and " " in text.strip()
            and not re.search(r"[;{}]\s*$", text)
        ):
            texts.append((node.lineno, prose(text)))
    return texts


@cache
def texts_of(path: Path) -> list[tuple[str, str]]:
    """Return what a reader reads of a file, each piece with the place where it stands."""
    if path.suffix == ".md":
        lines = prose(path.read_text(encoding="utf-8"))
        return [("", lines)]
    if path.suffix == ".svg":
        return [("", " ".join(re.findall(r">([^<>]+)<", path.read_text(encoding="utf-8"))))]
    if path.suffix == ".py":
        return [(f"line {line}", text) for line, text in sentences_of(path.read_text(encoding="utf-8"))]
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            found.append((f"cell {cell.id}", prose(cell.source)))
        elif "check" in cell.metadata.get("tags", []):
            found += [(f"cell {cell.id}", text) for _, text in sentences_of(cell.source)]
        found.append(
            (f"cell {cell.id}", str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")))
        )
    return found


def places(path: Path, term: dict) -> list[str]:
    """Return the places of a file where a word stands that the table advises against."""
    found = []
    for where, text in texts_of(path):
        text = re.sub(r"[ \t]*\n[ \t]*", "\n", text)
        allowed = [
            match.span() for pattern in term.get("but", ()) for match in re.finditer(pattern, text, re.I)
        ]
        allowed += [
            paragraph.span()
            for paragraph in re.finditer(r"(?:.+\n?)+", text)
            if any(re.search(pattern, paragraph[0], re.I) for pattern in term.get("beside", ()))
        ]
        for pattern in term["patterns"]:
            for match in re.finditer(pattern.replace(" ", r"\s"), text, re.I):
                if any(start <= match.start() and match.end() <= end for start, end in allowed):
                    continue
                line = where or f"line {text.count(chr(10), 0, match.start()) + 1}"
                around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
                found.append(f"{path.relative_to(ROOT)}, {line}: … {around} …")
    return found


def test_there_is_something_to_read():
    assert len(TERMS) > 10 and all(term["because"].endswith(".") for term in TERMS.values())
    for paths, least in ((PAGES, 20), (NOTEBOOKS, 27), (SOURCES, 100), (DRAWINGS, 5)):
        assert len(paths) >= least
        assert sum(len(text.split()) for path in paths for _, text in texts_of(path)) > 20 * least


@pytest.mark.parametrize("chosen", TERMS)
def test_one_word_for_one_thing(chosen):
    term = TERMS[chosen]
    wrong = [place for path in (*PAGES, *NOTEBOOKS, *SOURCES, *DRAWINGS) for place in places(path, term)]
    assert not wrong, f"write {chosen}: {term['because']}\n" + "\n".join(wrong)


# --- The search itself -----------------------------------------------------------------------------------------


EXAMPLES = {
    "launch": "Each request takes some microseconds.",
    "temporary array": "CuPy makes two arrays that nobody\nwants.",
    "warp slot": "An SM has places for 32 warps.",
    "warp divergence": "No warp is torn.",
    "uncoalesced": "The reads are non-coalesced.",
    "register spill": "The kernel runs out of registers.",
    "lane": "A T4 has 64 float32 lanes.",
    "host, device": "The graphics card waits.",
    "guard": "The boundary check keeps the thread away.",
    "latency, throughput, bandwidth": "The link is the slower road.",
    "stand-in": "The emulator runs it.",
    "a named actor": "Nobody reads the tile.",
    "a number": "So many threads have no element.",
    "the names of both": "The one waits while the other runs.",
}


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    EXAMPLES.items(),
)
def test_a_forbidden_word_is_found(chosen, sentence, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nA right line.\n{sentence}\n", encoding="utf-8")
    [place] = places(page, TERMS[chosen])
    assert place.startswith("page.md, line 4: … ")
    code = tmp_path / "code.py"
    code.write_text(f'x = 1\nmessage = f"{{x}}: {sentence!r}"\n'.replace("'", ""), encoding="utf-8")
    [place] = places(code, TERMS[chosen])
    assert place.startswith("code.py, line 2: … ")
    notebook = tmp_path / "book.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(sentence, id="here")]), notebook
    )
    [place] = places(notebook, TERMS[chosen])
    assert place.startswith("book.ipynb, cell here: … ")


def test_each_term_has_an_example():
    assert EXAMPLES.keys() == TERMS.keys()


def test_code_links_and_exceptions_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "`requests` and [pip](https://request.example/requests), one memory request, a pull request.\n\n"
        "```python\nrequest = 1  # nobody\n```\n\n(a-request)=\n## Heading\n",
        encoding="utf-8",
    )
    assert not [place for term in TERMS.values() for place in places(page, term)]
