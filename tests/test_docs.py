"""The code on the guide's pages runs, page by page from top to bottom, and so do the examples in docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import numpy
import pytest

import rlgrad

DOCS = Path(__file__).resolve().parent.parent / "docs"
PACKAGE = Path(rlgrad.__file__).resolve().parent
PAGES = [path for path in sorted(DOCS.glob("*.md")) if "```python\n" in path.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, object] = {"__name__": "__main__"}
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: match.start()].count("\n") + 1
        # Blank lines put the numbers of a traceback's lines where they are on the page.
        exec(compile("\n" * line + match.group(1), str(page), "exec"), names)


def modules():
    """Every module of the package with examples."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text():
            place = path.relative_to(PACKAGE.parent).with_suffix("")
            yield ".".join(part for part in place.parts if part != "__init__")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, globs={**vars(module), "np": numpy})
    assert outcome.attempted
    assert not outcome.failed
