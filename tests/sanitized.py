"""What may differ between a stored output and a run of the same cell, as `nbval-sanitize.cfg` says for nbval."""

import configparser
import re
from pathlib import Path

RULES = configparser.RawConfigParser()
RULES.read(Path(__file__).with_name("nbval-sanitize.cfg"))


def without_what_differs(text: str) -> str:
    """Return what a cell printed without versions, times and what else nbval leaves out when it compares."""
    for rule in RULES.values():
        if "regex" in rule:
            text = re.sub(rule["regex"], rule["replace"], text)
    return text
