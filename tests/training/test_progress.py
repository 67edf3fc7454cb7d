import io
import os
import pty
import select

import pytest

from rlgrad.training import Progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_off_a_terminal_it_prints_one_plain_line_every_few_seconds(clock):
    file = io.StringIO()
    with Progress(1000, file=file) as progress:
        for step in range(1, 12):
            clock[0] += 1.0
            progress.update(step * 50, **{"return": 20.0 + step})
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert "25%" in lines[0]
    assert "250/1,000 steps" in lines[0]
    assert "return 25" in lines[0]
    assert "50 steps/s" in lines[0]
    assert "00:15 left" in lines[0]
    assert "550/1,000" in lines[-1]


def test_a_note_has_a_line_of_its_own_and_stays(capsys):
    file = io.StringIO()
    for enabled in (True, False):
        with Progress(10, enabled=enabled, file=file) as progress:
            progress.note("coverage fell")
            progress.update(10, loss=1.0)
    lines = file.getvalue().splitlines()
    assert lines[0] == "coverage fell"
    assert [line.startswith("100%") for line in lines] == [False, True]
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        with Progress(10, file=terminal) as progress:
            progress.note("coverage [fell]")
        shown = b""
        while select.select([reader], [], [], 0.1)[0]:
            shown += os.read(reader, 65536)
    os.close(reader)
    assert b"coverage [fell]\r\n" in shown


def test_a_continued_run_counts_its_speed_from_where_it_continued(clock):
    with Progress(1000, enabled=False, completed=500) as progress:
        clock[0] += 10.0
        progress.update(600)
        assert progress.rate == pytest.approx(10.0)


def test_disabled_it_is_silent(capsys):
    with Progress(10, enabled=False) as progress:
        progress.update(10, loss=1.0)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_redraws_one_line_with_figures_speed_and_time_left():
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        with Progress(100, unit="iterations", file=terminal) as progress:
            progress.update(40, **{"return": 21.5})
        terminal.flush()
        text = ""
        while select.select([reader], [], [], 0.2)[0]:  # a terminal hands out what was written piece by piece
            text += os.read(reader, 65536).decode()
    os.close(reader)
    assert "return 21.5" in text
    assert "iterations/s" in text
    assert "left" in text
    assert text.count("\n") == 1


def test_an_error_inside_passes_through():
    with pytest.raises(KeyError), Progress(10, file=io.StringIO()):
        raise KeyError("x")
