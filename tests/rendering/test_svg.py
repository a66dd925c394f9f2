"""Parts of a picture: they are whole XML, their numbers are short, and words cannot break out of them."""

from xml.etree import ElementTree

from host_to_device.rendering import svg

WORDS = 'a < b & "c"'


def test_a_picture_is_whole_xml_and_says_what_it_shows():
    parts = [
        svg.box(1, 2, 3, 4, "red", rx=5),
        svg.circle(1, 2, 3, "none", stroke_width=1.5),
        svg.line(0, 0, 1 / 3, 1e3, "black", stroke_dasharray="2 3"),
        svg.curve([(0, 0), (1.23456, 2)], "black"),
        svg.text(1, 2, WORDS, anchor="end", size=9.5),
    ]
    root = ElementTree.fromstring(svg.picture(parts, WORDS, (-1, 0, 99.5, 50), 120))
    assert root.get("viewBox") == "-1 0 99.5 50" and root.get("aria-label") == WORDS
    assert "width: 120px" in root.get("style") and root.get("class") == "h2d-drawing"
    box, circle, line, curve, text = root
    assert box.attrib == {"x": "1", "y": "2", "width": "3", "height": "4", "fill": "red", "rx": "5"}
    assert circle.get("r") == "3" and circle.get("stroke-width") == "1.5"
    assert (line.get("x2"), line.get("y2"), line.get("stroke-dasharray")) == ("0.33", "1000", "2 3")
    assert curve.get("points") == "0,0 1.23,2" and curve.get("fill") == "none"
    assert text.text == WORDS and (text.get("text-anchor"), text.get("font-size")) == ("end", "9.5")


def test_a_picture_is_as_wide_as_its_view_unless_it_is_told():
    assert "width: 70px" in svg.picture([], "", (0, 0, 70, 9)) and 'class="own"' in svg.picture(
        [], "", (0, 0, 70, 9), kind="own"
    )
