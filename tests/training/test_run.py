import os
import signal
import threading

import pytest

from rlgrad.training import Interrupt, prepare_run_directory, spawn_generators


def test_a_run_folder_is_made_and_left_empty(tmp_path):
    folder = prepare_run_directory(tmp_path / "outputs" / "job" / "now")
    assert folder.is_absolute()
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"output folder .*file/run cannot be written .*Choose another.*not started"):
        prepare_run_directory(tmp_path / "file" / "run")


def test_a_full_disk_is_found_before_training(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        prepare_run_directory(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_first_interrupt_is_a_request_and_the_second_raises():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.requested
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_off_the_main_thread_it_leaves_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def enter():
        with Interrupt() as interrupt:
            seen.append((interrupt.requested, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [(False, True)]


def test_a_generator_depends_on_seed_and_name_alone():
    both = spawn_generators(3, "environment", "exploration")
    alone = spawn_generators(3, "exploration")
    draw = alone["exploration"].random(4)
    assert draw.tolist() == both["exploration"].random(4).tolist()
    assert draw.tolist() != both["environment"].random(4).tolist()
    assert draw.tolist() != spawn_generators(4, "exploration")["exploration"].random(4).tolist()


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="non-negative integer, got -1"):
        spawn_generators(-1, "environment")
