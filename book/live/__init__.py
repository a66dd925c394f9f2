"""Pages that run their code: Run and Edit on the cells of some lessons, with Python in a worker of the browser.

`runtime` finds Pyodide and NumPy, `library` packs ours, `cells` says which cells a page can run, and `pages` puts a bar below
each of them. `live.js` is the page's script and `worker.js` its worker; in the worker, `in_worker/running.py` runs cells.
Nothing is fetched before a reader presses Run. Without Pyodide, the pages are built without the bars.
"""

from book.live.pages import bar, setup

__all__ = ["bar", "setup"]
