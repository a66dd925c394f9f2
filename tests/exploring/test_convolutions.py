"""The explorer of convolutions: its counts are the notebook's and those of real arrays, its picture, its two faces."""

import math
import re
from pathlib import Path

import pytest

import host_to_device as h2d
from authoring import notebooks
from host_to_device.exploring.convolutions import CHANNELS, WAYS, ConvolutionPicture, cost

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("way", WAYS)
def test_the_notebook_counts_the_same(way):
    cells = {cell.id: cell.source for cell in notebooks.read(ROOT / "notebooks" / "07-cudnn.ipynb").cells}
    space = {"log2": math.log2}
    exec(cells["count"], space)
    for shape in ((1, 1, 1, 64, 3), (4, 64, 32, 34, 3)):
        n, c, k, h, r = shape
        assert space["count"](way, *shape) == pytest.approx(tuple(cost(way, c, k, r, h, n)))


def test_the_workspaces_are_those_of_the_arrays():
    torch = pytest.importorskip("torch")
    n, c, k, h, r = 2, 4, 8, 18, 3
    x, w = torch.zeros(n, c, h, h), torch.zeros(k, c, r, r)
    assert torch.nn.functional.unfold(x, r).nbytes == cost("im2col", c, k, r, h, n).workspace
    planes = [torch.fft.rfft2(x), torch.fft.rfft2(w, s=(h, h)), torch.fft.rfft2(torch.zeros(n, k, h, h))]
    assert sum(each.nbytes for each in planes) == cost("FFT", c, k, r, h, n).workspace
    tiles = x.unfold(2, 4, 2).unfold(3, 4, 2)
    held = tiles.numel() + 16 * k * c + tiles.numel() // c * k
    assert 4 * held == cost("Winograd", c, k, r, h, n).workspace


def test_direct_operations_by_hand():
    # 5 x 5 image, 3 x 3 kernel: nine places of nine products and nine sums.
    assert cost("direct", 1, 1, 3, 5) == (2 * 9 * 9, 0)
    assert cost("im2col", 1, 1, 3, 5) == (2 * 9 * 9, 4 * 9 * 9)


def test_where_a_way_does_not_apply_it_has_no_cost():
    assert cost("Winograd", 1, 1, 5, 16) is None
    assert cost("Winograd", 1, 1, 3, 17) is None  # an odd number of results
    assert cost("direct", 1, 1, 63, 16) is None
    assert ConvolutionPicture(kernel=63, size=16).costs == {}
    assert "larger than the image" in ConvolutionPicture(kernel=63, size=16).summary()


def test_sentences_say_what_the_picture_shows():
    assert "Winograd has the fewest operations" in ConvolutionPicture().summary()
    assert "FFT has the fewest operations" in ConvolutionPicture(1, 1, 31, 128).summary()
    assert "no way has fewer operations than the direct way" in ConvolutionPicture(64, 64, 1).summary()
    assert "Winograd does not apply" in ConvolutionPicture(64, 64, 1).alt()
    assert ConvolutionPicture().svg().count("<rect") == 2 * len(WAYS)


def test_no_number_is_cut_off():
    for given in ((512, 512, 63, 512), (1, 1, 1, 16)):
        svg = ConvolutionPicture(*given).svg()
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', svg):
            assert float(x) + 7 * len(text) <= width, text


@pytest.mark.parametrize("given", [(3,), (0,), (True,), (64.5,), (64, 64, 4), (64, 64, 3, 100), (64, "64")])
def test_what_it_cannot_draw_is_refused_by_name(given):
    with pytest.raises(ValueError, match=r"(channels|kernel|size) is .*: give one of 1"):
        h2d.explore_convolution(*given)


def test_moving_redraws_the_picture():
    explorer = h2d.explore_convolution()
    channels, _out, kernel, _size, view = explorer.widget().children
    assert "Winograd has" in view.value
    channels.value = CHANNELS[0]
    kernel.value = 31
    assert explorer.picture.kernel == 31 and "Winograd has" not in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_convolution()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and "Winograd" in bundle["text/plain"]
