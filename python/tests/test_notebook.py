"""The notebook of the documentation runs, and its texts are those that are committed."""

import os
import re
from pathlib import Path

import pytest

import halfulp as hu

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "start" / "python.ipynb"
SECONDS = 120  # of a cell


def texts(cell):
    """What a cell shows as text; a figure by its kind alone."""
    found = [o["data"]["text/plain"] for o in cell.outputs if o.output_type == "execute_result"]
    return [re.sub(r"<Figure size [^>]*>", "<Figure>", text) for text in found]


@pytest.mark.filterwarnings("ignore")  # of what runs the notebook
def test_the_notebook_shows_what_it_says():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    committed = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    for cell in run.cells:
        cell.pop("outputs", None) if cell.cell_type != "code" else cell.update(outputs=[])
    paths = [str(Path(hu.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    client = nbclient.NotebookClient(run, timeout=SECONDS, kernel_name="python3")
    client.execute(env=environment)
    for was, now in zip(committed.cells, run.cells):
        if was.cell_type == "code":
            assert not [o for o in now.outputs if o.output_type in ("error", "stream")], now.source
            assert texts(now) == texts(was), now.source


def test_every_public_name_has_its_place_in_the_reference():
    pages = "".join(p.read_text() for p in (ROOT / "docs/reference/python").glob("*.md"))
    listed = re.findall(r"^::: halfulp\.(\w+)$", pages, re.MULTILINE)
    assert sorted(listed) == sorted(hu.__all__)
