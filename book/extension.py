"""The book's Sphinx extension: what it derives from the repository address, and the parts it is made of."""

from sphinx.application import Sphinx
from sphinx.config import Config

from book import address, assets, drawings, lessons


def configure(app: Sphinx, config: Config) -> None:
    """Set what follows from the repository address: canonical links, previews, and the 404 page's links."""
    where = address.read()
    config.html_baseurl = where.site
    config.ogp_site_url = where.site
    config.ogp_site_name = config.project
    config.ogp_social_cards = {"enable": False}
    config.ogp_image = where.site + "_static/social-preview.png"
    config.ogp_image_alt = "Host to Device: learn GPU computing from Python on the computer you have"
    config.notfound_urls_prefix = where.site_path


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure, priority=10)
    for part in (assets, drawings, lessons):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
