import subprocess
import sys

import numpy as np
import pytest

from rlgrad.training import MetricLogger, encode_png, read_metrics

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read_events(directory):
    accumulator = event_accumulator.EventAccumulator(str(directory))
    accumulator.Reload()
    return accumulator


def test_scalars_reach_tensorboard_and_the_csv_file(tmp_path):
    with MetricLogger(tmp_path) as logger:
        for step in range(5):
            logger.scalars({"rollout/return": 2.0 * step, "loss/policy": np.float32(0.5)}, step)
        logger.scalars({"time/steps_per_second": 7}, 5)
    returns = [(event.step, event.value) for event in read_events(tmp_path).Scalars("rollout/return")]
    assert returns == [(step, 2.0 * step) for step in range(5)]
    steps, values = read_metrics(tmp_path)["rollout/return"]
    np.testing.assert_array_equal(steps, range(5))
    np.testing.assert_array_equal(values, 2.0 * np.arange(5))
    assert set(read_metrics(tmp_path)) == {"rollout/return", "loss/policy", "time/steps_per_second"}


def test_a_continued_run_replaces_what_came_after_its_checkpoint(tmp_path):
    with MetricLogger(tmp_path) as logger:
        for step in range(6):
            logger.scalars({"loss/policy": 1.0}, step)
    with MetricLogger(tmp_path, purge_step=4) as logger:
        for step in range(4, 8):
            logger.scalars({"loss/policy": 2.0}, step)
    expected = [1.0] * 4 + [2.0] * 4
    steps, values = read_metrics(tmp_path)["loss/policy"]
    assert steps.tolist() == list(range(8))
    assert values.tolist() == expected
    events = read_events(tmp_path).Scalars("loss/policy")
    assert [(event.step, event.value) for event in events] == list(enumerate(expected))


def test_a_half_written_last_row_is_dropped_on_continuing(tmp_path):
    with MetricLogger(tmp_path, tensorboard=False) as logger:
        logger.scalars({"loss/policy": 1.0}, 0)
    with open(tmp_path / "metrics.csv", "a") as file:
        file.write("1,17")
    with MetricLogger(tmp_path, tensorboard=False, purge_step=5) as logger:
        logger.scalars({"loss/policy": 2.0}, 5)
    assert read_metrics(tmp_path)["loss/policy"][0].tolist() == [0, 5]


def test_each_sink_can_be_left_out(tmp_path):
    with MetricLogger(tmp_path / "none", tensorboard=False, csv=False) as logger:
        logger.scalars({"loss/policy": 1.0}, 0)
    assert not (tmp_path / "none").exists()
    with MetricLogger(tmp_path / "events", csv=False) as logger:
        logger.scalars({"loss/policy": 1.0}, 0)
    assert [path.name.split(".")[0] for path in (tmp_path / "events").iterdir()] == ["events"]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_image_is_the_same_picture_in_tensorboard_and_on_disk(tmp_path, channels):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    with MetricLogger(tmp_path) as logger:
        logger.image("samples/ring", image, 3)
    event = read_events(tmp_path).Images("samples/ring")[0]
    assert (event.step, event.width, event.height) == (3, 7, 5)
    assert (tmp_path / "samples_ring.png").read_bytes() == event.encoded_image_string
    pil = pytest.importorskip("PIL.Image")
    decoded = np.asarray(pil.open(tmp_path / "samples_ring.png")).reshape(image.shape)
    np.testing.assert_array_equal(decoded, image)


@pytest.mark.parametrize("image", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((2, 2, 2), np.uint8)])
def test_an_array_that_is_no_picture_is_refused(image):
    with pytest.raises(ValueError, match="height, width, channels"):
        encode_png(image)


def test_tensorboard_logging_is_imported_late_and_without_torch(tmp_path):
    code = (
        "import sys\n"
        "from rlgrad.training import MetricLogger\n"
        "with MetricLogger(sys.argv[1]) as logger:\n"
        "    print('tensorboardX' in sys.modules)\n"
        "    logger.scalars({'a/b': 1.0}, 0)\n"
        "print('tensorboardX' in sys.modules, 'torch' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], text=True, capture_output=True)
    assert result.stdout.split() == ["False", "True", "False"], result.stderr
