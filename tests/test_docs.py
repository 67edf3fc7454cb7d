"""The code on the guide's pages runs, page by page from top to bottom, and so do the examples in docstrings."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy
import pytest

import rlgrad.agents
import rlgrad.cli
import rlgrad.training

DOCS = Path(__file__).resolve().parent.parent / "docs"
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
    """Every module whose examples train, save or compose something."""
    for package in (rlgrad.agents, rlgrad.training, rlgrad.cli):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                yield module.name


@pytest.mark.slow
@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, globs={**vars(module), "np": numpy}).failed == 0
