"""`{raised}` shows what the real libraries raised, says where, and stops the build where nothing is stored."""

import io
import re

from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from book import origins, raised

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def built(folder, source):
    """Build a book of one page and the page of origins; return its page and the warnings."""
    (folder / "chapters").mkdir()
    (folder / "index.md").write_text(f"# A book\n\n{source}\n\n```{{toctree}}\nchapters/measurements\n```\n")
    (folder / "chapters" / "measurements.md").write_text(f"# Where\n\n({origins.ANCHOR})=\n## Origins\n")
    (folder / "conf.py").write_text("")
    settings = {"extensions": ["myst_parser", "book.raised", "book.origins"]}
    warnings, out = io.StringIO(), folder / "_build"
    with docutils_namespace(), patch_docutils():
        Sphinx(folder, folder, out, out / "trees", "html", settings, io.StringIO(), warnings).build()
    return BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser"), COLOUR.sub(
        "", warnings.getvalue()
    )


def test_a_stored_text_stands_in_the_page_with_its_origin(tmp_path):
    page, warnings = built(
        tmp_path,
        "```{raised} out of memory cupy\n```\n\n```{raised} illegal address numba-cuda\n:call: 2\n```",
    )
    assert warnings == ""
    first, second = (block.get_text().strip() for block in page.select(".h2d-output pre"))
    assert (
        first
        == "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes (allocated so far: 0 bytes)."
    )
    assert (
        second
        == "numba.cuda.cudadrv.driver.CudaAPIError: [700] Call to cuMemAlloc results in CUDA_ERROR_ILLEGAL_ADDRESS"
    )
    stamps = page.select("p.h2d-stamp")
    versions = raised.stored()["versions"]
    assert [stamp.get_text() for stamp in stamps] == [
        f"Raised in our tests without a GPU: CuPy {versions['cupy']}, on a CUDA driver of ours.",
        f"Raised in our tests without a GPU: numba-cuda {versions['numba-cuda']}, on a CUDA driver of ours.",
    ]
    links = [(link.get_text(), link["href"]) for link in page.select("a.h2d-origin")]
    assert links == [("Raised", f"{origins.PAGE}.html#{origins.ANCHOR}")] * 2


def test_what_is_not_stored_stops_the_build_with_file_and_line(tmp_path):
    wrong = {
        "out of money cupy": "no error 'out of money' of 'cupy' is stored, only PTX newer than the driver cupy,",
        "out of memory torch": "no error 'out of memory' of 'torch' is stored",
        "cupy": "no error '' of 'cupy' is stored",
        "out of memory cupy\n:call: 2": "'out of memory' of cupy has no call 2: it has 1",
    }
    _, warnings = built(tmp_path, "\n".join(f"```{{raised}} {argument}\n```" for argument in wrong))
    # An error is a warning, which stops `make book`.
    for line, said in zip((3, 5, 7, 9), wrong.values(), strict=True):
        assert f"{tmp_path / 'index.md'}:{line}: ERROR: raised: {said}" in warnings


def test_every_stored_error_can_be_shown():
    found = raised.stored()["errors"]
    for each in found:
        calls = [
            other for other in found if (other["error"], other["library"]) == (each["error"], each["library"])
        ]
        assert raised.entry(each["error"], each["library"], calls.index(each) + 1) == each
        assert not raised.text(each).startswith("builtins.") and "\n\n" not in raised.text(each)
