"""The notebooks, as files and run."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
# Of a line of code: what a page shows without a bar to scroll.
WIDTH = 120


def cells(file: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == kind]


def test_there_are_six_and_the_page_beside_them_names_each() -> None:
    page = (FOLDER / "README.md").read_text()
    assert len(FILES) == 6
    assert set(re.findall(r"\(([a-z-]+\.ipynb)\)", page)) == {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_has_no_outputs(file: Path) -> None:
    for cell in cells(file, "code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None and cell["metadata"] == {}, cell["id"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_begins_with_a_question_and_ends_with_an_answer_that_is_checked(file: Path) -> None:
    texts = ["".join(cell["source"]) for cell in cells(file, "markdown")]
    assert re.match(r"# .*\?\n", texts[0]), texts[0]
    assert any(text.startswith("## Answer") for text in texts)
    # The figures of the answer are computed, and what it claims is asserted where it is computed.
    last = "".join(cells(file, "code")[-1]["source"])
    assert re.search(r"^assert ", last, re.M) and re.search(r"^Markdown\(", last, re.M) and "{" in last


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_code_of_a_notebook_fits_a_page(file: Path) -> None:
    for cell in cells(file, "code"):
        code = "".join(cell["source"])
        ast.parse(code)
        assert max(map(len, code.splitlines())) <= WIDTH, cell["id"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_links_of_a_notebook_lead_somewhere(file: Path) -> None:
    links = [link for cell in cells(file, "markdown") for link in re.findall(r"\]\(([^)]+)\)", "".join(cell["source"]))]
    for link in links:
        assert link.startswith("https://") or (FOLDER / link.split("#")[0]).exists(), link


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_runs_without_warnings_and_every_sentence_has_its_figures(file: Path) -> None:
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert "Warning" not in output.get("text", ""), output.text
            sentence = output.get("data", {}).get("text/markdown", "")
            assert not re.search(r"\b(nan|inf|None)\b", sentence), sentence
