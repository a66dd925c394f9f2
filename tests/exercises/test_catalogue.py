"""The checks of a set: read from notebooks, in a checkout and in an installed library."""

import inspect
import sys

import pytest

from authoring import notebooks
from host_to_device.exercises import Exercise, catalogue, definition
from host_to_device.standins import events
from tests.exercises.test_building import a_set, exercise


@pytest.fixture(autouse=True)
def no_notebook():
    """Forget the exercises that notebooks of other tests have defined."""
    definition.in_notebook.clear()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two empty folders in place of the library's own and of the repository's."""
    there = tmp_path / "sets", tmp_path / "solutions"
    monkeypatch.setattr(catalogue, "FOLDERS", there)
    monkeypatch.setattr(catalogue, "SETS", f"{tmp_path.name}.sets")
    known = set(sys.modules)
    yield there
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_the_module_of_a_set_holds_the_classes_as_they_are_and_nothing_else(folders):
    folders[1].mkdir()
    notebooks.write(a_set(), folders[1] / "07-things.ipynb")
    assert catalogue.set_numbers() == ["07"]
    first, second = catalogue.in_set("07")
    assert (first.number, second.number) == ("07.1", "07.2") and second.title() == "Thing 2"
    assert catalogue.find("7.2") is second and catalogue.in_set("07") == [first, second]
    module = sys.modules[first.__module__]
    assert module.TITLE == "Things of one set"
    text = inspect.getsource(module)
    assert (
        "# What is asked for.\nclass Thing1(Exercise):" in text and "secret" not in text and "h2d" not in text
    )
    assert {each for each in vars(module).values() if isinstance(each, type)} == {Exercise, first, second}
    assert inspect.getsource(second).startswith("class Thing2(Exercise):")


def test_an_installed_library_reads_its_own_copy(folders):
    for folder, title in zip(folders, ("shipped", "beside it"), strict=True):
        folder.mkdir()
        notebooks.write(a_set(*exercise(1, name=title.title().replace(" ", ""))), folder / "07-things.ipynb")
    [only] = catalogue.in_set("07")
    assert only.__name__ == "Shipped"


def test_exercises_and_sets_that_are_not_there_are_refused(folders):
    with pytest.raises(ValueError, match=r"no exercise 07\.1, because there is no set 07; sets: none"):
        catalogue.find("07.1")
    folders[0].mkdir()
    notebooks.write(a_set(), folders[0] / "07-things.ipynb")
    (folders[0] / "notes.ipynb").write_text("{}")
    with pytest.raises(ValueError, match=r"no exercise 07\.3: set 07 has 07\.1, 07\.2"):
        catalogue.find("07.3")
    with pytest.raises(ValueError, match=r"no set 08; sets: 07"):
        catalogue.find("08.1")
    assert catalogue.in_set("08") == []


def test_a_set_whose_package_is_not_installed_says_which(folders):
    folders[0].mkdir()
    cells = exercise(1)
    cells[3].source = f"import no_such_package\n{cells[3].source}"
    notebooks.write(a_set(*cells), folders[0] / "07-things.ipynb")
    with pytest.raises(ValueError, match="the checks of set 07 need no_such_package, which is not installed"):
        catalogue.find("07.1")
    assert catalogue.in_set("07") == [] and catalogue.set_numbers() == ["07"]


def test_a_kernel_of_a_check_counts_as_the_librarys_code():
    """What the stand-in tells of a learner's code names the learner's line, and none of a check."""
    [first, *_] = catalogue.in_set("02")
    assert not events.is_readers(inspect.getfile(first))
