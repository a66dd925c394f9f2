"""The theme's icons, cut down to those that the site shows.

The theme brings Font Awesome twice: as 1.5 MB of JavaScript, which does nothing that its web fonts do not do,
and as three web fonts of 300 KB with 2000 icons, of which a page shows twenty. A page is a third of its weight
without the rest.
"""

import io
import re
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset, ttLib

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
STYLES = "styles/pydata-sphinx-theme.css"
SCRIPT = "scripts/fontawesome.js"
FONTS = "vendor/fontawesome/webfonts"

# One rule for one icon, such as `.fa-gear:before,.fa-cog:before{content:"\f013"}`.
ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:{1,2}before,?)+)\{content:"\\[0-9a-f]+"\}')


def names_used(site: Path) -> set[str]:
    """Return the icons' class names that stand in the site's pages and scripts."""
    files = [*site.rglob("*.html"), *(site / "_static").glob("**/*theme.js")]
    return {
        name for path in files for name in re.findall(r"\bfa-[a-z0-9-]+", path.read_text(encoding="utf-8"))
    }


def styles_with(names: set[str]) -> str:
    """Return the theme's style sheet with the rules of these icons only, and our fonts in place of its own."""
    styles = (THEME / STYLES).read_text(encoding="utf-8")
    styles = ICON_RULE.sub(
        lambda rule: rule[0] if names & set(re.findall(r"fa-[a-z0-9-]+", rule[1])) else "", styles
    )
    return re.sub(
        r"url\((\.\./vendor/fontawesome/webfonts/fa-[a-z0-9-]+)\.woff2\)[^}]*",
        r'url(\1.woff) format("woff")',
        styles,
    )


def font_with(characters: set[int], font: Path) -> bytes:
    """Return this font with these characters only, as WOFF."""
    options = subset.Options(flavor="woff", recalc_timestamp=False, notdef_outline=True)
    with ttLib.TTFont(font, recalcTimestamp=False) as whole:
        cut = subset.Subsetter(options)
        cut.populate(unicodes=characters)
        cut.subset(whole)
        whole.flavor = "woff"
        out = io.BytesIO()
        whole.save(out)
    return out.getvalue()


def write_if_changed(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def clear(site: Path) -> None:
    """Remove what `trim` wrote for the last build, so that Sphinx copies the theme's own without a word."""
    for path in (STYLES, SCRIPT):
        (site / "_static" / path).unlink(missing_ok=True)


def trim(site: Path) -> None:
    """Replace the theme's icon fonts and styles in the built site by what its pages use."""
    static = site / "_static"
    styles = styles_with(names_used(site))
    others = "".join(
        path.read_text(encoding="utf-8") for path in static.glob("**/*.css") if path != static / STYLES
    )
    escaped, plain = (
        re.findall(r"\\([ef][0-9a-f]{3})\b", styles + others),
        re.findall("[\ue000-\uf8ff]", styles + others),
    )
    characters = {int(code, 16) for code in escaped} | {ord(character) for character in plain}
    write_if_changed(static / STYLES, styles.encode())
    write_if_changed(static / SCRIPT, b"// The icons come from the web fonts: see book/icons.py\n")
    for font in (THEME / FONTS).glob("*.ttf"):
        write_if_changed(static / FONTS / f"{font.stem}.woff", font_with(characters, font))
        for whole in (static / FONTS).glob(f"{font.stem}.*[2f]"):
            if whole.suffix != ".woff":
                whole.unlink()
