"""The repository address: read from `_config.yml`, the one place where it stands.

What Sphinx needs is derived from it at build time. Files that have to spell it out (README, package
metadata, citation, the notebooks' set-up cells) are rewritten by `python -m book.address NEW_ADDRESS`,
which is how a fork sets its own; a test holds that they all agree.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import yaml

ROOT = Path(__file__).resolve().parent.parent

# The files that may spell the address out.
FILES = (
    "_config.yml",
    "README.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "CHANGELOG.md",
    "pyproject.toml",
    "index.md",
    "chapters/*.md",
    "host_to_device/diagnosing/findings.py",
    "notebooks/*.ipynb",
    "exercises/*.ipynb",
    "solutions/*.ipynb",
    "authoring/private_checks/*.ipynb",
)


@dataclass(frozen=True)
class Address:
    """Where the repository is, and everything that follows from it."""

    url: str
    branch: str

    def __post_init__(self):
        if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", self.url):
            raise ValueError(f"{self.url!r} is not a repository: write it as https://github.com/OWNER/NAME")

    @property
    def owner(self) -> str:
        return self.url.split("/")[-2]

    @property
    def name(self) -> str:
        return self.url.split("/")[-1]

    @property
    def site(self) -> str:
        """The address of the published book, with a slash at its end."""
        return f"https://{self.owner.lower()}.github.io/{self.name}/"

    @property
    def site_path(self) -> str:
        """The path of the published book on its host, with a slash at both ends."""
        return f"/{self.name}/"

    def colab(self, path: str) -> str:
        """Return the address that opens this notebook of the repository in Colab."""
        return f"https://colab.research.google.com/github/{self.owner}/{self.name}/blob/{self.branch}/{path}"

    def kaggle(self, path: str) -> str:
        """Return the address that copies this notebook of the repository into a Kaggle account."""
        return f"https://www.kaggle.com/kernels/welcome?src={self.url}/blob/{self.branch}/{path}"

    def binder(self, path: str) -> str:
        """Return the address that opens this notebook on mybinder.org."""
        return f"https://mybinder.org/v2/gh/{self.owner}/{self.name}/{self.branch}?urlpath=lab/tree/{path}"

    def jupyterhub(self, path: str) -> str:
        """Return the address of nbgitpuller's link generator, which asks for the reader's JupyterHub and links to this notebook there."""
        about = {"repo": self.url, "branch": self.branch, "urlpath": f"lab/tree/{self.name}/{path}"}
        return f"https://nbgitpuller.readthedocs.io/en/latest/link.html?{urlencode(about, safe='/:')}"

    def elsewhere(self, path: str) -> dict[str, str]:
        """Return the addresses that open this notebook outside of Colab, by the service's name."""
        return {
            "Kaggle": self.kaggle(path),
            "Binder": self.binder(path),
            "JupyterHub": self.jupyterhub(path),
        }

    def archive(self, version: str) -> str:
        """Return the address that pip installs this version from: the archive of its tag."""
        return f"{self.url}/archive/refs/tags/v{version}.zip"


def read(root: Path = ROOT) -> Address:
    """Return the address that `_config.yml` gives."""
    repository = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return Address(repository["url"], repository["branch"])


def version(root: Path = ROOT) -> str:
    """Return the version of the library, which is also the tag that Colab installs."""
    return re.search(r'^version = "([^"]+)"', (root / "pyproject.toml").read_text(encoding="utf-8"), re.M)[1]


def named_files(root: Path = ROOT) -> list[Path]:
    """Return the files that may spell the address out."""
    return [path for pattern in FILES for path in sorted(root.glob(pattern))]


def move(new_url: str, root: Path = ROOT) -> list[Path]:
    """Point every file that names the repository at `new_url`; return the files that changed."""
    old, tag = read(root), version(root)
    new = Address(new_url.rstrip("/").removesuffix(".git"), old.branch)
    # In one pass, because a new address may contain the old one.
    pairs = {
        old.archive(tag): new.archive(tag),
        old.colab(""): new.colab(""),
        old.site: new.site,
        old.url: new.url,
    }
    ours = re.compile("|".join(map(re.escape, pairs)))
    changed = []
    for path in named_files(root):
        before = path.read_text(encoding="utf-8")
        text = ours.sub(lambda found: pairs[found[0]], before)
        if text != before:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(
            f"The repository is {read().url}\nTo move it: python -m book.address https://github.com/OWNER/NAME"
        )
        return 2 if arguments else 0
    try:
        changed = move(arguments[0])
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1
    print("\n".join(str(path.relative_to(ROOT)) for path in changed) or "nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
