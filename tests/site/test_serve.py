"""`make serve`: the address it prints, and one line where a port cannot be had."""

import http.client
import re
import subprocess
import sys

import pytest

from book import address
from tests.site.reading import ROOT
from tools import serve

pytestmark = pytest.mark.site
COMMAND = [sys.executable, str(ROOT / "tools" / "serve.py")]


def test_it_says_where_to_open_the_book():
    with subprocess.Popen([*COMMAND, "0"], stdout=subprocess.PIPE, text=True) as running:
        line = running.stdout.readline()
        running.terminate()
    assert re.match(r"Serving the book at http://localhost:\d+ \(Ctrl-C stops it\)\n", line)


def test_a_busy_port_is_one_line_that_names_another():
    with serve.server(0) as taken:
        asked = subprocess.run([*COMMAND, str(taken.server_port)], capture_output=True, text=True)
    assert asked.returncode == 1 and asked.stdout == ""
    assert asked.stderr == (
        f"make serve: port {taken.server_port} is in use; try make serve PORT={taken.server_port + 1}\n"
    )


@pytest.mark.parametrize("port", ["eighty", "70000", "-1", "80.5"])
def test_a_wrong_port_is_one_line(port):
    asked = subprocess.run([*COMMAND, port], capture_output=True, text=True)
    assert asked.returncode == 2
    assert asked.stderr == f"make serve: {port} is not a port; try make serve PORT=8001\n"


@pytest.mark.parametrize("prefix", ["/", address.read().site_path])
def test_a_missing_page_is_answered_with_the_404_page(site, url, prefix):
    connection = http.client.HTTPConnection("localhost", int(url.rstrip("/").split(":")[-1]))
    connection.request("GET", prefix + "not/here.html")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, (site / "404.html").read_bytes())
    connection.request("HEAD", prefix + "not/here.html")
    assert connection.getresponse().status == 404
    connection.close()


def test_nothing_outside_the_site_is_served(url):
    connection = http.client.HTTPConnection("localhost", int(url.rstrip("/").split(":")[-1]))
    connection.request("GET", "/../../_config.yml")
    assert connection.getresponse().status == 404
    connection.close()
