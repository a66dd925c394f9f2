"""How right the doctor is on the texts of tests/diagnosing/corpus: `python -m tests.commands.diagnosing [-v]`.

A cause that a text is not about is a false diagnosis; precision is the share of right ones among those that were made,
recall the share of the causes of the texts that were found. `-v` names each case that is not as the corpus wants it.
"""

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from host_to_device.diagnosing import doctor

CORPUS = Path(__file__).resolve().parents[1] / "diagnosing" / "corpus"


def cases():
    """Return the cases of the corpus: the name of the file and the table of each."""
    files = sorted(set(CORPUS.glob("*.toml")) - {CORPUS / "causes.toml"})
    return [(file.stem, case) for file in files for case in tomllib.loads(file.read_text("utf-8"))["case"]]


@dataclass
class Score:
    """What the doctor made of the corpus."""

    texts: int = 0
    right: int = 0
    false: int = 0
    missed: int = 0
    first: int = 0  # texts whose first finding is the one that the corpus wants first
    with_cause: int = 0
    nothing: int = 0  # texts that must get nothing
    invented: int = 0  # of these, texts with a finding
    cures: int = 0
    cured: int = 0  # cures that say what no good answer leaves out
    remarks: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.false, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)


def score(chosen=None):
    """Return what the doctor makes of the cases, all of them if none are given."""
    result = Score()
    for file, case in cases() if chosen is None else chosen:
        judge(f"{file}-{case['name']}", case, result)
    return result


def judge(name, case, result):
    diagnosis = doctor(case["text"].encode(case.get("encoding", "utf-8")))
    found = [each.id for each in diagnosis.findings]
    wanted, allowed = case["expect"], {*case["expect"], *case.get("allow", [])}
    false = [cause for cause in found if cause not in allowed]
    missed = [cause for cause in wanted if cause not in found]
    result.texts += 1
    result.right += len(set(found) & set(wanted))
    result.false += len(false)
    result.missed += len(missed)
    if wanted:
        result.with_cause += 1
        result.first += found[:1] == wanted[:1]
    else:
        result.nothing += 1
        result.invented += bool(found)
    if false or missed or found[:1] != wanted[:1]:
        result.remarks.append(f"{name}: found {found}, wanted {wanted}")
    if case.get("cure") and found[:1] == wanted[:1]:
        result.cures += 1
        cure = diagnosis.findings[0].cure.lower()
        lacking = [
            words
            for words in case["cure"]
            if not any(each.strip().lower() in cure for each in words.split("|"))
        ]
        result.cured += not lacking
        if lacking:
            result.remarks.append(f"{name}: the cure lacks {lacking}")


def main() -> int:
    result = score()
    if "-v" in sys.argv[1:]:
        print("\n".join(result.remarks))
    print(f"{result.texts} texts: precision {result.precision:.3f}, recall {result.recall:.3f}")
    print(
        f"first finding right: {result.first} of {result.with_cause}; cures whole: {result.cured} of {result.cures}"
    )
    print(f"texts that must get nothing: {result.nothing}, of which {result.invented} got a diagnosis")
    return 0


if __name__ == "__main__":
    sys.exit(main())
