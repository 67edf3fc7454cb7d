"""The wheel works away from the repository, in an environment that holds nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command, cwd, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    result = subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.mark.slow
def test_an_installed_wheel_trains_away_from_the_repository(tmp_path):
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    scripts = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(
        scripts / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        wheel,
        cwd=tmp_path,
    )

    away = tmp_path / "away"
    away.mkdir()
    where = run(scripts / "python", "-c", "import rlgrad; print(rlgrad.__file__)", cwd=away)
    assert Path(where.strip()).is_relative_to((tmp_path / "env").resolve())

    output = run(scripts / "rlgrad", "reinforce", "env=CartPole", "total_timesteps=2000", cwd=away)
    assert "Evaluation: mean return" in output
    (folder,) = (away / "outputs" / "reinforce").iterdir()
    names = {path.name.split(".out.")[0] for path in folder.iterdir()}
    assert names == {"checkpoint.safetensors", "config.yaml", "metrics.csv", "events"}

    output = run(scripts / "rlgrad", "gan", "gan.iterations=5", cwd=away)
    assert "of 8 modes" in output
