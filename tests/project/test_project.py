"""The files around the course agree with each other: commands, pins, workflows, the address, the README."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book import address, lessons
from tools import colab_packages, forecast, package, versions

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project_files():
    """Return the files that git has or would take, in a form that reads as text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.split("\0") if name)
    binary = {".png", ".ico", ".woff", ".woff2", ".zip"}
    return [path for path in paths if path.is_file() and path.suffix not in binary]


# --- Commands --------------------------------------------------------------------------------------------------


def make_targets():
    """Return the documented targets of the Makefile with their one line each."""
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", text("Makefile"), re.M))


def test_the_makefile_stays_small_and_documented():
    targets = make_targets()
    assert {"book", "serve", "lab", "test", "test-all", "clean"} <= set(targets)
    assert len(targets) <= 16
    phony = re.search(r"^\.PHONY: (.+)$", text("Makefile"), re.M)[1].split()
    assert set(phony) == set(targets) | {"set-up-book", "set-up-course", "set-up-tests"}


def test_make_alone_lists_the_commands():
    if shutil.which("make") is None:
        pytest.skip("no make here")
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True).stdout
    for target, line in make_targets().items():
        assert re.search(rf"^  make {target} +{re.escape(line)}$", listed, re.M)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", ".ci/run", "chapters/set-up.md", *WORKFLOWS]
)
def test_every_make_command_that_is_named_exists(name):
    # `make` and what it is given, at the start of a line, a code span or a workflow's `run:`.
    commands = re.findall(r"(?:^|`|run: )make((?: [A-Z]+=\S+)*)(?: ([a-z-]+))?", text(name), re.M)
    unknown = {target for _, target in commands if target and target not in make_targets()}
    assert not unknown


def test_the_test_command_of_a_test_machine_is_make_test():
    script = text(".ci/run")
    assert script.splitlines()[-1] == "make test"
    assert "set -euo pipefail" in script and "export CI=true" in script
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111 or Path("/").drive


# --- Pins ------------------------------------------------------------------------------------------------------


def pins(lines):
    """Return `{name: {version, …}}` of exact requirement lines."""
    found = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            requirement = Requirement(line)
            found.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    return found


LOCKED = {
    "requirements-book.txt": ["book"],
    "requirements.txt": ["book", "course", "test"],
}


@pytest.mark.parametrize("name, groups", LOCKED.items(), ids=LOCKED)
def test_the_lock_holds_every_direct_pin(name, groups):
    locked = pins(text(name).splitlines())
    direct = pins(line for group in groups for line in PYPROJECT["dependency-groups"][group])
    assert direct and {package: locked.get(package) for package in direct} == direct, "run `make lock`"
    inexact = [
        package for package, versions in locked.items() for v in versions if not re.match(r"==[^,*]+$", v)
    ]
    assert not inexact


def test_reading_needs_a_part_of_what_running_needs():
    book, course = (pins(text(name).splitlines()) for name in LOCKED)
    assert {package: course.get(package) for package in book} == book
    assert not {"torch", "numba", "jupyterlab"} & set(book)


def test_the_compilers_leave_the_rest_alone():
    """`requirements-inspect.txt` goes on top of the course, and beside the packages that drive a GPU."""
    locked, course = (
        pins(text(name).splitlines()) for name in ("requirements-inspect.txt", "requirements.txt")
    )
    direct = pins(PYPROJECT["dependency-groups"]["inspect"])
    assert direct and {package: locked.get(package) for package in direct} == direct, "run `make lock`"
    assert not set(locked) & set(course)
    gpu = pins(text("requirements-gpu.txt").splitlines())
    shared = set(locked) & set(gpu)
    assert {"numba-cuda", "cupy-cuda13x"} <= shared
    assert {package: locked[package] for package in shared} == {package: gpu[package] for package in shared}


def test_locked_versions_have_no_local_suffix():
    assert not re.findall(r"^.*==\S*\+\S*", text("requirements.txt"), re.M)


@pytest.mark.parametrize("name, cuda", [("requirements-gpu.txt", 13), ("requirements-gpu-cuda12.txt", 12)])
def test_the_gpu_files_leave_the_rest_alone(name, cuda):
    gpu, course = pins(text(name).splitlines()), pins(text("requirements.txt").splitlines())
    assert {f"cupy-cuda{cuda}x", "numba-cuda"} < set(gpu)
    assert f"numba-cuda[cu{cuda}]" in text(name) and f"cuda-toolkit=={cuda}." in text(name)
    shared = set(gpu) & set(course)
    assert shared == {"numba", "numpy"}
    assert {package: gpu[package] for package in shared} == {package: course[package] for package in shared}


# --- Nothing of one machine ------------------------------------------------------------------------------------

# Places that only the machine of whoever wrote the file has. The brackets keep this list from finding itself.
ELSEWHERE = {
    "a package registry": r"[r]egistry\.npmjs|[p]ypi\.org|[f]iles\.pythonhosted|[c]onda\.anaconda|[d]eb\.debian\.org",
    "a folder of one machine": r"(?<![\w.<])/(?:[w]ork|[r]oot|[o]pt/wheels|[o]pt/pypi|[h]ome/\w+|[U]sers/\w+)/",
    "a temporary folder": r"(?<![\w.])/[t]mp/\w",  # tests may have one in a text
}


REPORTS = ROOT / "tests" / "diagnosing" / "corpus"  # reports of machines, which have such places


@pytest.mark.parametrize("what", ELSEWHERE)
def test_no_file_names(what):
    pattern = ELSEWHERE[what]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in project_files()
        if what != "a temporary folder" or ROOT / "tests" not in path.parents
        if REPORTS not in path.parents
        for match in re.finditer(pattern, path.read_text(encoding="utf-8"))
    ]
    assert not found


# --- The address -----------------------------------------------------------------------------------------------

NOT_IN_A_LINK = r"[^\s()\[\]{}<>\"'`\\|,;]"


def links(path, start):
    """Return the links in a file that match this beginning, as far as they go."""
    written = path.read_text(encoding="utf-8").replace("\\n", "\n")
    return [link.rstrip(".:") for link in re.findall(start + NOT_IN_A_LINK + "*", written)]


def our_links():
    where = address.read()
    name = re.escape(where.name)
    for path in address.named_files():
        for link in links(path, r"https://colab\.research\.google\.com/github/"):
            yield path, link, where.colab("")
        for link in links(path, rf"https://[\w.-]+\.github\.io/{name}\b"):
            yield path, link, where.site
        for link in links(path, rf"https://github\.com/[\w.-]+/{name}\b"):
            yield path, link, where.url


def test_every_link_to_the_project_has_its_address():
    found = list(our_links())
    assert {"README.md", "CITATION.cff", "pyproject.toml", "_config.yml"} <= {
        path.name for path, _, _ in found
    }
    wrong = [f"{path.relative_to(ROOT)}: {link}" for path, link, start in found if not link.startswith(start)]
    assert not wrong


def test_every_colab_link_opens_a_file_that_is_there():
    start = address.read().colab("")
    opened = {link.removeprefix(start) for _, link, begins in our_links() if begins == start}
    assert opened
    assert not [path for path in sorted(opened) if not (ROOT / path).is_file()]


@pytest.mark.parametrize("lesson", lessons.read_all(), ids=lambda lesson: lesson.slug)
def test_the_links_beside_colab_open_the_lessons_notebook(lesson):
    where = address.read()
    links = where.elsewhere(lesson.notebook)
    assert (ROOT / lesson.notebook).is_file() and set(links) == {"Kaggle", "Binder", "JupyterHub"}
    assert links["Kaggle"].partition("?src=")[2] == f"{where.url}/blob/{where.branch}/{lesson.notebook}"
    binder = urlsplit(links["Binder"])
    assert binder.path == f"/v2/gh/{where.owner}/{where.name}/{where.branch}"
    assert parse_qs(binder.query) == {"urlpath": [f"lab/tree/{lesson.notebook}"]}
    pulled = parse_qs(urlsplit(links["JupyterHub"]).query)
    assert pulled["repo"] == [where.url] and pulled["branch"] == [where.branch]
    # nbgitpuller puts the repository into a folder of its name.
    assert pulled["urlpath"] == [f"lab/tree/{where.name}/{lesson.notebook}"]


def test_binder_installs_the_pinned_versions_and_this_course():
    lines = text(".binder/requirements.txt").splitlines()
    given = pins(line for line in lines if "==" in line and not line.startswith("#"))
    pinned = pins(line for group in ("book", "course") for line in PYPROJECT["dependency-groups"][group])
    assert {*given} >= {"torch", "numba", "numpy", "jupyterlab", "ipywidgets"}
    assert given == {name: pinned[name] for name in given}
    assert lines[-1] == "." and text(".binder/apt.txt") == "g++\n"
    python = text(".binder/runtime.txt").strip().removeprefix("python-")
    assert f'"{python}"' in text(".github/workflows/test.yml")


def test_every_link_to_a_page_of_the_book_has_that_page():
    start = address.read().site
    pages = {link.removeprefix(start).partition("#")[0] for _, link, begins in our_links() if begins == start}
    sources = {page: ROOT / page.removesuffix(".html") for page in pages if page.endswith(".html")}
    assert sources
    missing = [page for page, source in sources.items() if not list(source.parent.glob(source.name + ".*"))]
    assert not missing


def test_what_colab_installs_is_this_version():
    archive = address.read().archive(address.version())
    archives = {
        (path, link)
        for path in address.named_files()
        for link in links(path, re.escape(address.read().url) + "/archive/")
    }
    assert {path.suffix for path, _ in archives} >= {".ipynb"}
    assert {link for _, link in archives} == {archive}
    assert address.version() == PYPROJECT["project"]["version"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == address.version()
    assert citation["repository-code"] == address.read().url and citation["url"] == address.read().site
    assert citation["license"] == ["Apache-2.0", "CC-BY-4.0"]
    newest = re.search(r"^## (\d{4}-\d\d-\d\d) · (\S+)$", text("CHANGELOG.md"), re.M)
    assert newest.groups() == (citation["date-released"], citation["version"])


FORKS = ("https://github.com/Somebody-Else/a-course.of-theirs", f"{address.read().url}-2")


@pytest.mark.parametrize("fork", FORKS)
def test_a_fork_can_move_and_move_back(tmp_path, fork):
    for path in project_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    old = address.read()
    before = {path: path.read_bytes() for path in address.named_files(tmp_path)}

    changed = address.move(fork, tmp_path)
    assert {"_config.yml", "README.md", "CITATION.cff", "pyproject.toml"} <= {path.name for path in changed}
    assert {path.parent.name for path in changed} >= {"notebooks", "exercises", "solutions"}
    assert address.read(tmp_path).url == fork
    named = re.compile("|".join(f"{re.escape(word)}(?!-2)" for word in (old.url, old.site.rstrip("/"))))
    left = [
        str(path.relative_to(tmp_path))
        for path in tmp_path.rglob("*")
        if path.is_file() and named.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not left, "these name the address and `python -m book.address` does not reach them"

    assert all(f"{fork}-2" not in path.read_text(encoding="utf-8") for path in address.named_files(tmp_path))
    address.move(old.url, tmp_path)
    assert {path: path.read_bytes() for path in before} == before


# --- README and licences ---------------------------------------------------------------------------------------


def test_the_readme_has_the_table_of_lessons():
    table = re.search(r"<!-- lessons -->\n(.*?)<!-- /lessons -->", text("README.md"), re.S)[1]
    expected = lessons.table_markdown(lessons.read_all(), address.read())
    assert table == expected, "run .venv/bin/python -m book.lessons"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_inside_the_project_hold(name):
    targets = [
        link.partition("#")[0]
        for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "code", text(name)))
        if "://" not in link
    ]
    assert not [target for target in targets if target and not (ROOT / target).exists()]


def test_both_licences_are_there_in_full():
    assert "Apache License" in text("LICENSE") and "END OF TERMS AND CONDITIONS" in text("LICENSE")
    assert text("LICENSE-TEXT").startswith("Attribution 4.0 International")
    assert "Section 8 -- Interpretation." in text("LICENSE-TEXT")
    assert set(PYPROJECT["project"]["license-files"]) == {"LICENSE", "LICENSE-TEXT"}


# --- Workflows and hooks ---------------------------------------------------------------------------------------


def test_there_are_the_workflows():
    assert [path.stem for path in WORKFLOWS] == ["colab", "publish", "pypi", "smoke", "test", "weekly"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_thin(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow[True], "YAML reads the key `on` as true"
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        everything = {"run": "make test-all"} in job["steps"]
        assert job["timeout-minutes"] <= (150 if everything else 60)
        for step in job["steps"]:
            if "uses" in step:
                publishes = step["uses"] == "pypa/gh-action-pypi-publish@release/v1" and path.stem == "pypi"
                assert publishes or re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
            else:
                assert re.match(r"make [a-z-]+|\.ci/run$|python tools/|\.venv\\Scripts\\python ", step["run"])
                assert "\n" not in step["run"]


def test_only_a_tag_is_published_and_without_a_password():
    """PyPI's trusted publishing: the job that uploads has an environment and may ask for a token, and no other may."""
    workflow = yaml.safe_load(text(".github/workflows/pypi.yml"))
    assert workflow[True]["push"] == {"tags": ["v*"]}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert {"run": "python tools/package.py"} in build["steps"] and "permissions" not in build
    assert publish["if"] == "github.ref_type == 'tag'" and publish["needs"] == "build"
    assert publish["environment"] == {"name": "pypi"} and publish["permissions"] == {"id-token": "write"}
    assert "secrets" not in text(".github/workflows/pypi.yml")
    assert not package.mismatch("0.9.0", "branch", "main") and not package.mismatch("0.9.0", "tag", "v0.9.0")
    assert "tag v0.9.0" in package.mismatch("0.9.0", "tag", "v0.8.0")


def test_the_forecast_reports_and_is_never_red():
    job = yaml.safe_load(text(".github/workflows/weekly.yml"))["jobs"]["forecast"]
    assert {"run": "python tools/forecast.py"} in job["steps"] and job["continue-on-error"] is True
    pins = forecast.pinned(text("pyproject.toml"))
    assert {*forecast.TRIED, *forecast.BESIDE} <= {*pins}
    rows = [
        forecast.Row("numpy", "2.3.5", "2.5.1", failed=["03-kernels-numba.ipynb::Cell 4"]),
        forecast.Row("numba", "0.68.1", "0.70.0", problem="cannot be installed beside the other pins: numpy"),
        forecast.Row("dask", "2026.8.0", "2026.11.0"),
    ]
    said = forecast.report(rows, "2026-11-27", [])
    assert "| numpy | 2.3.5 | 2.5.1 | 1 cells: 03-kernels-numba.ipynb::Cell 4 |" in said
    assert "| numba | 0.68.1 | 0.70.0 | cannot be installed beside the other pins: numpy |" in said
    assert "| dask | 2026.8.0 | 2026.11.0 | nothing |" in said
    assert "our pins are the newest" in forecast.report([], "2026-11-27", [])


def test_the_pythons_that_are_promised_are_tested():
    matrix = yaml.safe_load(text(".github/workflows/test.yml"))["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13"]
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"


def test_what_is_cached_follows_the_requirements():
    """A cache of the environment is for its pins alone; one of kernels may be older, since each entry has a key."""
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            for step in job["steps"]:
                given = step.get("with", {})
                if "actions/cache" in step.get("uses", ""):
                    assert "requirements*.txt" in given["key"]
                    assert "restore-keys" not in given or given["path"] == "~/.cache/host-to-device"
                if given.get("cache") == "pip":
                    assert list(ROOT.glob(given["cache-dependency-path"]))


def test_the_lowest_and_the_newest_versions_are_tested_and_everything_once_a_week():
    jobs = yaml.safe_load(text(".github/workflows/weekly.yml"))["jobs"]
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    matrix = {each["which"]: each["python"] for each in jobs["versions"]["strategy"]["matrix"]["include"]}
    assert matrix["lowest"] == oldest and matrix["newest"] > oldest
    assert {"run": "python tools/versions.py ${{ matrix.which }}"} in jobs["versions"]["steps"]
    assert {"run": "make test-all"} in jobs["everything"]["steps"]
    lowest, newest = versions.requirements("lowest"), versions.requirements("newest")
    dependencies = PYPROJECT["project"]["dependencies"]
    assert newest[: len(dependencies)] == dependencies
    assert lowest[: len(dependencies)] == [each.replace(">=", "==") for each in dependencies]
    assert all((ROOT / "tests" / each).exists() for each in (*versions.FOLDERS, *versions.NOT_HERE))
    for file, _, name in (each.partition("::") for each in versions.OF_PINNED):
        assert f"def {name}(" in text(f"tests/{file}")
    assert matrix["successor"] > "3.11"  # NumPy 2.5 asks for 3.12
    successor = versions.requirements("successor")
    assert {"numpy>=2.5", "numba-cuda-mlir[cu13]"} < set(successor)
    assert not any(each.startswith("numba-cuda==") for each in successor)
    assert (ROOT / versions.SUCCESSOR).exists()
    with pytest.raises(ValueError, match="neither lowest nor newest nor successor"):
        versions.requirements("middle")


def test_hooks_fetch_nothing():
    repositories = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system" and hook["entry"].startswith(".venv/bin/python -m ")
        assert not [
            word for word in hook["entry"].split() if word.endswith(".py") and not (ROOT / word).exists()
        ]


# --- Beside what Colab ships -----------------------------------------------------------------------------------

COLAB = """\
# Do not modify this file directly; it is generated
absl-py==1.4.0
filelock==3.19.1
google-colab @ file:///colabtools/dist/google_colab-1.0.0.tar.gz
ipywidgets==7.7.1
jaxlib @ https://example.com/jaxlib-0.4.16+cuda11.cudnn86-cp310-cp310-manylinux2014_x86_64.whl#sha256=78b3
jupyter_client==7.4.9
matplotlib==3.10.0
numba==0.60.0
numpy==2.0.2
platformdirs==4.3.8
pytest==8.4.2
torch @ https://example.com/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl#sha256=a81b
torchvision==0.26.0+cu128
"""


def test_colab_lists_are_read():
    assert colab_packages.packages(COLAB) == {
        "absl-py": "1.4.0",
        "filelock": "3.19.1",
        "ipywidgets": "7.7.1",
        "jaxlib": "0.4.16+cuda11.cudnn86",
        "jupyter-client": "7.4.9",
        "matplotlib": "3.10.0",
        "numba": "0.60.0",
        "numpy": "2.0.2",
        "platformdirs": "4.3.8",
        "pytest": "8.4.2",
        "torch": "2.1.0+cu118",
        "torchvision": "0.26.0+cu128",
    }
    assert colab_packages.python_version("# lsb_release\nUbuntu 22.04.5 LTS\nPython 3.12.13\n") == "3.12"


def test_our_bounds_hold_on_colab():
    wanted = colab_packages.dependencies(text("pyproject.toml"))
    assert {requirement.name for requirement in wanted} == {
        "numpy",
        "numba",
        "matplotlib",
        "ipywidgets",
        "platformdirs",
        "filelock",
    }
    assert colab_packages.unmet(wanted, colab_packages.packages(COLAB)) == []


def test_a_bound_that_colab_does_not_meet_is_named():
    there = {"numpy": "1.25.0", "numba": "0.60.0"}
    wanted = [Requirement("numpy>=1.26"), Requirement("numba>=0.60"), Requirement("matplotlib")]
    assert colab_packages.unmet(wanted, there) == [
        "numpy>=1.26 does not hold for 1.25.0",
        "matplotlib is not there",
    ]


def test_a_package_that_an_install_changes_is_named():
    before = {"numpy": "2.0.2", "torch": "2.11.0", "numba": "0.60.0"}
    after = {"numpy": "2.3.5", "torch": "2.11.0", "host-to-device": "0.1.0"}
    assert colab_packages.changed(before, after) == [
        "numba: 0.60.0 became nothing",
        "numpy: 2.0.2 became 2.3.5",
    ]
    assert colab_packages.changed(before, {**before, "host-to-device": "0.1.0"}) == []


def test_the_environment_has_colabs_versions():
    there = colab_packages.packages(COLAB)
    wanted = colab_packages.dependencies(text("pyproject.toml"))
    install, constraints = colab_packages.requirements(there, wanted)
    assert install == [*(each.name for each in wanted), "torch", "pytest", "nbval"]
    assert "torch==2.1.0" in constraints and "numpy==2.0.2" in constraints
