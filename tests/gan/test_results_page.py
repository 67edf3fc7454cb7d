import importlib
from pathlib import Path

import pytest


@pytest.fixture
def gan_tables(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return importlib.import_module("benchmarks.gan_tables")


def test_the_page_of_results_is_what_the_stored_runs_say(gan_tables):
    assert gan_tables.PAGE.read_text(encoding="utf-8") == gan_tables.page()


def test_medians_come_with_their_range(gan_tables):
    assert gan_tables.spread([0.9, 0.5, 0.7], 100, 1) == "70.0 (50.0 to 90.0)"
    assert gan_tables.spread([8, 8], 1, 0) == "8"
