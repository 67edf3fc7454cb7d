import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from rlgrad import cli
from rlgrad.agents import IQL, SAC
from rlgrad.cli.settings import conf_dir, describe_type, schema_of, settings_from
from rlgrad.training import load_checkpoint, read_metrics

ROOT = Path(__file__).resolve().parent.parent
QUICK = ["progress=false", "evaluation_episodes=2", "logger=csv"]
TINY = ["total_timesteps=500", "agent.batch_steps=200", "agent.hidden_sizes=[8]", *QUICK]
TINY_GAN = [
    "gan.iterations=4",
    "gan.batch_size=16",
    "gan.hidden_sizes=[8]",
    "gan.evaluate_every=2",
    "progress=false",
]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run a command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def only_run(job, folder=Path()):
    (run,) = (folder / "outputs" / job).iterdir()
    return run


def test_reinforce_leaves_checkpoint_settings_and_metrics(command):
    code, out, err = command("reinforce", "env=CartPole", "seed=3", *TINY)
    assert code == 0, err
    assert re.search(r"Evaluation: mean return [\d.]+ ± [\d.]+ over 2 episodes, deterministic", out)
    run = only_run("reinforce")
    assert str(run) in out
    assert load_checkpoint(run / "checkpoint.safetensors")["state"]["num_timesteps"] >= 500
    assert "seed: 3" in (run / "config.yaml").read_text()
    assert {"rollout/return", "evaluation/return", "time/steps_per_second"} <= set(read_metrics(run))


def test_the_progress_line_shows_return_speed_and_time_left(command):
    code, _, err = command("reinforce", *TINY, "progress=true")
    assert code == 0
    assert re.search(r"100%  [\d,]+/500 steps  return [\d.]+  [\d,]+ steps/s  00:00 left", err)


def test_any_registered_environment_can_be_named(command):
    code, out, err = command("reinforce", "env.id=MountainCar-v0", *TINY)
    assert code == 0, err
    assert "MountainCar-v0" in out


def test_an_environments_own_options_are_passed_on(command):
    code, _, err = command("reinforce", "env=Pendulum", "env.options.g=3.5", "env.num_envs=2", *TINY)
    assert code == 0, err
    options = load_checkpoint(only_run("reinforce") / "checkpoint.safetensors")["description"]["env_options"]
    assert options == {"g": 3.5}


def test_gan_leaves_checkpoint_settings_picture_and_events(command):
    code, out, err = command("gan", *TINY_GAN)
    assert code == 0, err
    assert re.search(r"Evaluation: \d of 8 modes, [\d.]+ % high quality, reverse KL", out)
    run = only_run("gan")
    names = {path.name.split(".out.")[0] for path in run.iterdir()}
    assert names == {"checkpoint.safetensors", "config.yaml", "metrics.csv", "samples.png", "events"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agent.lerning_rate=1"], r"no setting 'agent\.lerning_rate'. Did you mean agent\.learning_rate\?"),
        (["agnt.gamma=0.9"], r"Did you mean agent\.gamma\?"),
        (["+agent.lerning_rate=1"], r"lerning_rate"),
        (["zzz=1"], r"no setting 'zzz'. This job has: agent, .*device, env, .*, total_timesteps, video\."),
        (
            ["env=CartPol"],
            r"no environment 'CartPol'. Did you mean 'CartPole'\? There are: Acrobot, CartPole, .*env\.id=",
        ),
        (["env.id=CartPol-v1"], r"no environment 'CartPol-v1'.*CartPole-v1"),
        (["optimizer=adm"], r"no optimizer 'adm'. Did you mean 'adam'\? There are: adagrad, adam, "),
        (["optimizer.bta=1"], r"Did you mean optimizer\.betas\?"),
        (["optimizer=sgd", "optimizer.momentm=0.9"], r"Did you mean optimizer\.momentum\?"),
        (["data=ring"], r"no group 'data' in this job"),
        (["agent.gamma=high"], r"agent\.gamma must be a number \(float\), not 'high'"),
        (["agent.hidden_sizes=64"], r"agent\.hidden_sizes must be a list"),
        (["total_timesteps=1e5"], r"total_timesteps must be a whole number \(int\).*total_timesteps=100000"),
        (["agent.gamma=2"], r"gamma must lie between 0 and 1, got 2"),
        (["env.num_envs=0"], r"num_envs must be an integer of at least 1, got 0"),
        (["seed=-1"], r"seed must be a non-negative integer, got -1"),
        (["seed=1,2"], r"seed=1,2 is ambiguous.*--multirun"),
        (["agent.gamma"], r"'agent\.gamma' is not of the form name=value"),
        (["device=tpu"], r"cpu, cuda.*'tpu'"),
        (["env.options.colour=1"], r"colour"),
        (["resume=nowhere"], r"resume=nowhere: there is no checkpoint"),
    ],
)
def test_a_mistake_is_one_clean_message_and_exit_code_2(command, arguments, words):
    code, out, err = command("reinforce", *TINY, *arguments)
    assert code == 2
    assert re.search(words, err), err
    assert "Traceback" not in err
    assert err.count("\n") == 1
    assert out == ""
    assert not list(Path().rglob("config.yaml"))


def test_a_losss_own_settings_come_before_those_that_suit_the_data(command):
    _, tuned, _ = command("gan", "data=digits", "--cfg", "job")
    _, chosen, _ = command("gan", "data=digits", "gan=wgan_gp", "--cfg", "job")
    assert "r1_gamma: 1.0" in tuned
    assert "r1_gamma: 0.0" in chosen
    assert "gradient_penalty: 0.1" in chosen
    assert "iterations: 4000" in chosen


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gan.los=wgan"], r"Did you mean gan\.loss\?"),
        (["data.mods=3"], r"Did you mean data\.modes\?"),
        (["data.modes=many"], r"data\.modes must be a whole number"),
        (["data=rng"], r"no data set 'rng'. Did you mean 'ring'\? There are: .*grid, .*ring"),
        (["gan.loss=non_saturatin"], r"non_saturating"),
        (["gan.iterations=0"], r"iterations must be an integer of at least 1; got 0"),
        (["data=images"], r"data\.path has no value, and needs one: add data\.path=\.\.\."),
        (["data=images", "data.path=nowhere"], r"there is no folder .*nowhere"),
        (["net=dcgan"], r"makes square images, and samples have the shape \(2,\): set net=mlp"),
        (["gan.conditional=projection"], r"needs labels, and this data has none"),
        (["gan.discriminator_norm=batch"], r"mixes the samples of a batch"),
        (["gan=wgan_gp", "gan.gradient_penalty=0"], r"unbounded without a limit"),
    ],
)
def test_a_mistake_in_the_gan_job_is_one_clean_message(command, arguments, words):
    code, _, err = command("gan", *TINY_GAN, *arguments)
    assert code == 2
    assert re.search(words, err), err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("num_enfs: 3", r"In env/Mine\.yaml: there is no setting 'env\.num_enfs'. Did you mean 'env\.num_envs'\?"),
        ("num_envs: many", r"In env/Mine\.yaml: env\.num_envs must be a whole number \(int\).*'many'"),
    ],
)
def test_a_mistake_in_a_configuration_file_of_ones_own_names_the_file(command, line, words):
    Path("conf/env").mkdir(parents=True)
    Path("conf/env/Mine.yaml").write_text(f"id: CartPole-v1\n{line}\n")
    code, _, err = command("reinforce", "--config-dir", "conf", "env=Mine", *TINY)
    assert code == 2
    assert re.search(words, err), err
    assert err.count("\n") == 1


def test_cuda_without_a_gpu_is_one_sentence(command, monkeypatch):
    from rlgrad.backend import devices

    monkeypatch.setitem(sys.modules, "cupy", None)
    devices.cupy.cache_clear()
    code, _, err = command("reinforce", "device=cuda", *TINY)
    devices.cupy.cache_clear()
    assert code == 2
    assert re.fullmatch(r"rlgrad: device 'cuda' needs CuPy.*device='cpu'\n", err)


def test_an_unwritable_output_folder_fails_before_training(command):
    Path("file").write_text("")
    code, out, err = command("reinforce", "hydra.run.dir=file/run", *TINY)
    assert code == 2
    assert re.search(r"output folder .*file/run cannot be written .*training has not started", err)
    assert "REINFORCE in" not in out


def test_an_unknown_job_names_the_nearest(command):
    code, _, err = command("reinforc")
    assert code == 2
    assert "there is no job 'reinforc'. Did you mean 'reinforce'?" in err


def test_help_lists_jobs_groups_and_settings(command):
    code, out, _ = command("--help")
    assert code == 0
    assert "reinforce" in out
    assert "gan" in out
    code, out, _ = command("reinforce", "--help")
    assert code == 0
    assert re.search(r"env: Acrobot, CartPole, .*env\.id=MountainCar-v0", out)
    assert "learning_rate: " in out
    assert "schema" not in out


def test_cfg_job_shows_the_settings_without_training(command):
    code, out, _ = command("reinforce", "--cfg", "job", "agent.gamma=0.5")
    assert code == 0
    assert "gamma: 0.5" in out
    assert not Path("outputs").exists()


@pytest.mark.parametrize("agent", [path.stem for path in sorted((ROOT / "conf/agent").glob("*.yaml"))])
def test_train_takes_every_agent(command, agent):
    env = "Pendulum" if agent in ("ddpg", "td3", "sac") else "CartPole"
    code, out, err = command(
        "train", f"agent={agent}", f"env={env}", "total_timesteps=100", "agent.hidden_sizes=[8]", *QUICK
    )
    assert code == 0, err
    assert re.search(r"Evaluation: mean return -?[\d.]+ ± [\d.]+ over 2 episodes, deterministic", out)
    assert load_checkpoint(only_run("train") / "checkpoint.safetensors")["state"]["num_timesteps"] >= 100


@pytest.fixture
def steps(tmp_path):
    """A file of recorded steps in Pendulum: the less force, the better."""
    rng = np.random.default_rng(0)
    obs, actions = rng.uniform(-1, 1, (500, 3)), rng.uniform(-2, 2, (500, 1))
    arrays = {"observations": obs, "actions": actions, "rewards": -np.abs(actions[:, 0]), "next_observations": obs}
    np.savez(tmp_path / "steps.npz", **arrays, terminated=np.ones(500, bool))
    return "steps.npz"


@pytest.mark.parametrize("agent", ["iql", "cql"])
def test_train_learns_from_recorded_steps_and_goes_on(command, steps, agent):
    options = [f"agent={agent}", "env=Pendulum", f"dataset={steps}", "agent.hidden_sizes=[32]", *QUICK]
    options += ["agent.learning_rate=3e-3", "agent.batch_size=64"]
    code, _, err = command("train", *options, "total_timesteps=200", "hydra.run.dir=run")
    assert code == 0, err
    code, _, err = command("train", "resume=run", "total_timesteps=300")
    assert code == 0, err
    agent_class = {"iql": IQL, "cql": SAC}[agent]
    learned = agent_class.load("run/checkpoint.safetensors")
    assert learned.num_updates == 300
    assert abs(learned.predict(np.zeros(3))) < 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agent=ppo"], r"dataset=steps.npz: ppo has no replay memory to learn from. These have: dqn, .*iql\."),
        (["agent=iql", "dataset=nothing.npz"], r"No such file or directory: nothing\.npz\."),
        (["agent=iql", "env=CartPole"], r"Observation of shape \(500, 3\) does not fit Box.*\(4,\)"),
    ],
)
def test_a_data_set_that_does_not_fit_is_one_clean_message(command, steps, arguments, words):
    code, _, err = command("train", "env=Pendulum", f"dataset={steps}", *arguments)
    assert code == 2
    assert re.search(words, err), err
    assert err.count("\n") == 1


def test_train_applies_what_is_tuned_for_the_environment(command):
    code, out, _ = command("train", "agent=ppo", "env=LunarLander", "--cfg", "job")
    assert code == 0
    assert "n_steps: 1024" in out
    code, experiment, _ = command("train", "+experiment=ppo_lunarlander", "--cfg", "job")
    assert code == 0
    assert experiment == out


@pytest.mark.parametrize("experiment", [path.stem for path in sorted((ROOT / "conf/experiment").glob("*.yaml"))])
def test_every_experiment_names_tuned_settings(command, experiment):
    agent, env = experiment.split("_")
    code, out, err = command("train", f"+experiment={experiment}", "--cfg", "job")
    assert code == 0, err
    assert f"name: {agent}" in out
    assert re.search(rf"^  id: {env}-v\d$", out, re.M | re.I)
    tuned = [path.stem.lower() for path in (ROOT / "conf/tuned").glob("*.yaml")]
    assert experiment in [*tuned, "reinforce_cartpole"]


def test_the_job_of_reinforce_sends_other_agents_to_train(command):
    code, _, err = command("reinforce", "agent=ppo", "total_timesteps=10")
    assert code == 2
    assert "This job trains REINFORCE alone. Another agent: rlgrad train agent=ppo." in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agent=pppo"], r"no agent 'pppo'. Did you mean 'ppo'"),
        (["agent=ppo", "agent.clip_rang=0.1"], r"no setting 'agent\.clip_rang'. Did you mean agent\.clip_range"),
        (["agent=a2c", "agent.clip_range=0.1"], r"no setting 'agent\.clip_range'"),
        (["+experiment=a2c_cartpole", "agent.gama=1"], r"Did you mean agent\.gamma"),
        (["agent=ppo", "agent.lr=1"], r"no setting 'agent\.lr'. Did you mean agent\.learning_rate\?"),
        (["agent=ppo", "agent.recurrent=rnn"], r"recurrent is one of none, lstm, gru, not 'rnn'"),
        (["+experiment=ppo_cartpol"], r"no experiment 'ppo_cartpol'. Did you mean 'ppo_cartpole'"),
        (["agent=sac", "env=CartPole", "agent.num_envs=0"], r"num_envs must be at least 1, got 0"),
    ],
)
def test_a_mistake_in_the_train_job_is_one_clean_message(command, arguments, words):
    code, _, err = command("train", *arguments, "total_timesteps=10")
    assert code == 2
    assert re.search(words, err), err
    assert err.count("\n") == 1


def test_train_evaluates_on_the_way_and_keeps_the_best_and_the_newest(command):
    more = ["evaluation_every=256", "checkpoint_every=128", "checkpoint_keep=2", "total_timesteps=512"]
    code, _, err = command("train", "agent=ppo", "agent.n_steps=16", "agent.epochs=1", *more, *QUICK)
    assert code == 0, err
    run = only_run("train")
    assert (run / "best.safetensors").exists()
    assert len(list((run / "checkpoints").iterdir())) == 2
    assert read_metrics(run)["evaluation/return"][0].tolist() == [256, 512, 512]


def test_multirun_trains_once_per_value(command):
    code, _, err = command("reinforce", "--multirun", "seed=0,1", *TINY)
    assert code == 0, err
    sweep = only_run("reinforce")
    seeds = [re.search(r"^seed: (\d)", path.read_text(), re.M).group(1) for path in sorted(sweep.glob("*/config.yaml"))]
    assert seeds == ["0", "1"]


def test_a_stopped_and_resumed_run_is_the_run_that_was_not_stopped(command):
    short = [argument for argument in TINY if not argument.startswith("total")]
    assert command("reinforce", *short, "total_timesteps=2000", "hydra.run.dir=whole")[0] == 0
    assert command("reinforce", *short, "total_timesteps=900", "hydra.run.dir=parts")[0] == 0
    code, _, err = command("reinforce", "resume=parts", "total_timesteps=2000")
    assert code == 0, err
    whole, parts = (load_checkpoint(Path(run) / "checkpoint.safetensors")["state"] for run in ("whole", "parts"))
    assert repr(whole) == repr(parts)
    ours, theirs = read_metrics("parts"), read_metrics("whole")
    for tag in ("rollout/return", "loss/policy"):
        assert ours[tag][0].tolist() == theirs[tag][0].tolist()
        assert ours[tag][1].tolist() == theirs[tag][1].tolist()


def test_a_resumed_run_keeps_its_settings(command):
    assert command("reinforce", *TINY, "hydra.run.dir=run", "agent.gamma=0.9")[0] == 0
    code, _, err = command("reinforce", "resume=run", "agent.gamma=0.5")
    assert code == 2
    assert "agent.gamma is 0.9 in run/config.yaml" in err
    assert "gamma: 0.9" in Path("run/config.yaml").read_text()


@pytest.mark.parametrize(
    ("job", "options"),
    [
        ("gan", [*TINY_GAN, "data=grid", "gan=hinge", "optimizer=rmsprop"]),
        ("train", ["agent=dqn", "env.id=Acrobot-v1", "agent.hidden_sizes=[8]", "total_timesteps=200", *QUICK]),
    ],
)
def test_a_run_is_resumed_without_naming_its_options_again(command, job, options):
    assert command(job, *options, "hydra.run.dir=run")[0] == 0
    code, _, err = command(job, "resume=run")
    assert code == 0, err
    kept = Path("run/config.yaml").read_text()
    code, _, err = command(job, "resume=run", *[option for option in options if "=" in option])
    assert code == 0, err
    assert Path("run/config.yaml").read_text() == kept
    other = {"gan": "optimizer=sgd", "train": "agent=ppo"}[job]
    code, _, err = command(job, "resume=run", other)
    assert code == 2
    assert f"and {other} was given. Leave {other.partition('=')[0]} out" in err


def test_a_path_alone_tells_what_the_data_is(command):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    Path("pictures").mkdir()
    for index in range(12):
        image.fromarray(rng.integers(0, 256, (20, 30), np.uint8)).save(f"pictures/{index}.png")
    np.savez("arrays.npz", samples=rng.normal(size=(20, 2)))
    code, out, err = command("gan", *TINY_GAN, "data.path=pictures", "data.size=8", "hydra.run.dir=run")
    assert code == 0, err
    assert "GAN on images (12 samples of 3x8x8)" in out
    assert "net: dcgan" in Path("run/config.yaml").read_text()
    Path("pictures").rename("elsewhere")
    assert command("sample", "checkpoint=run", "n=4", "out=grid.png")[0] == 0
    code, _, err = command("gan", "resume=run")
    assert code == 2
    assert "there is no folder" in err
    code, out, err = command("gan", *TINY_GAN, "data.path=arrays.npz")
    assert code == 0, err
    assert "GAN on npz (20 samples of 2)" in out
    code, _, err = command("gan", *TINY_GAN, "data.path=nowhere")
    assert code == 2
    assert "there is no folder" in err


def test_a_run_of_another_job_is_not_resumed(command):
    assert command("gan", *TINY_GAN, "hydra.run.dir=run")[0] == 0
    code, _, err = command("reinforce", "resume=run")
    assert code == 2
    assert "run/config.yaml is not of this job" in err
    assert err.count("\n") == 1


def test_a_pickle_is_not_resumed(command):
    import pickle

    Path("checkpoint.safetensors").write_bytes(pickle.dumps({"a": 1}))
    (Path("config.yaml")).write_text("seed: 0\n")
    code, _, err = command("reinforce", "resume=checkpoint.safetensors")
    assert code == 2
    assert "pickle" in err


NAN_ENV = """
import gymnasium as gym
import numpy as np


class NanAfterAWhile(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 10
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        NanAfterAWhile.steps += 1
        reward = np.nan if NanAfterAWhile.steps > 3000 else 1.0
        return np.zeros(2, np.float32), reward, self.left == 0, False, {}


gym.register("NanAfterAWhile-v0", NanAfterAWhile)
"""


def test_a_nan_stops_training_and_keeps_the_last_good_checkpoint(command, monkeypatch):
    Path("nan_environment.py").write_text(NAN_ENV)
    monkeypatch.syspath_prepend(str(Path().absolute()))
    code, _, err = command(
        "reinforce", "env.id=nan_environment:NanAfterAWhile-v0", "total_timesteps=100_000", *TINY[1:]
    )
    assert code == 1
    assert re.search(r"stopped at .*step \d+: .* nan .*last good checkpoint is .*checkpoint\.safetensors", err)
    assert "Traceback" not in err
    assert load_checkpoint(only_run("reinforce") / "checkpoint.safetensors")["state"]["num_timesteps"] <= 3000


def test_a_nan_loss_names_the_step_and_the_parameter(command):
    wild = ["agent.learning_rate=1e38", "agent.max_grad_norm=1e9", "agent.activation=relu", "optimizer=sgd"]
    code, _, err = command("reinforce", *TINY, *wild)
    assert code == 1, err
    assert re.search(r"step \d+: .*parameter '[\w.]+'.*last good checkpoint is", err), err


def start(*arguments, cwd):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_updates(run):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if list(run.glob("events.*")):
            return
        time.sleep(0.05)
    raise AssertionError("no update within a minute")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "endless"),
    [
        ("train_reinforce.py", ["agent.solved_return=inf", "total_timesteps=1_000_000_000"]),
        ("train_gan.py", ["gan.iterations=1_000_000_000", "gan.log_every=1"]),
    ],
)
def test_ctrl_c_saves_a_checkpoint_and_exits_cleanly(tmp_path, script, endless):
    process = start(str(ROOT / "scripts" / script), *endless, "hydra.run.dir=run", cwd=tmp_path)
    wait_for_updates(tmp_path / "run")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert re.search(r"Interrupted after [\d,]+ \w+\. Checkpoint: .*run/checkpoint\.safetensors", out)
    state = load_checkpoint(tmp_path / "run" / "checkpoint.safetensors")
    assert state.get("iteration", state.get("state", {}).get("num_timesteps")) > 0


def test_starting_a_job_imports_nothing_that_only_later_steps_need(tmp_path):
    code = "import sys\nfrom rlgrad.cli.train_agent import REINFORCE\nprint(*sys.modules)"
    process = start("-c", code, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    loaded = set(out.split())
    for name in ("torch", "tensorboardX", "rich", "cupy", "hydra", "rlgrad.gan"):
        assert name not in loaded, name


def test_every_configuration_file_composes(command):
    conf = conf_dir()
    for path in sorted((conf / "env").glob("*.yaml")):
        assert command("reinforce", "--cfg", "job", f"env={path.stem}")[0] == 0
    for path in sorted((conf / "agent").glob("*.yaml")):
        assert command("reinforce", "--cfg", "job", f"agent={path.stem}")[0] == 0
    for path in sorted((conf / "optimizer").glob("*.yaml")):
        assert command("reinforce", "--cfg", "job", f"optimizer={path.stem}")[0] == 0
    for path in sorted((conf / "gan").glob("*.yaml")):
        assert command("gan", "--cfg", "job", f"gan={path.stem}")[0] == 0
    for path in sorted((conf / "data").glob("*.yaml")):
        assert command("gan", "--cfg", "job", f"data={path.stem}")[0] == 0


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Outer:
    rate: float = 0.5
    mode: Literal["fast", "exact"] = "fast"
    limit: float | None = None
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self):
        if self.rate <= 0:
            raise ValueError("rate must be positive")


def test_any_settings_dataclass_serves_as_a_schema_and_comes_back_as_itself():
    from omegaconf import OmegaConf

    config = OmegaConf.structured(schema_of(Outer))
    config.inner.sizes = [3]
    config.rate = 2
    settings = settings_from(Outer, OmegaConf.to_container(config))
    assert settings == Outer(rate=2.0, inner=Inner(sizes=(3,)))
    assert isinstance(settings.rate, float)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mode": "exat"}, r"mode is one of fast, exact, not 'exat'. Did you mean 'exact'\?"),
        ({"rat": 1.0}, r"no setting 'rat'. Did you mean 'rate'\?"),
        ({"inner": {"size": [1]}}, r"no setting 'inner\.size'. Did you mean 'sizes'\?"),
        ({"rate": -1.0}, "rate must be positive"),
    ],
)
def test_a_value_that_the_schema_lets_through_is_still_checked(values, words):
    with pytest.raises(ValueError, match=words):
        settings_from(Outer, values)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (int, "a whole number (int)"),
        (float | None, "a number (float) or null"),
        (tuple[int, ...], "a list [..., ...], each item a whole number (int)"),
        (Literal["fast", "exact"], "one of fast, exact"),
        (dict[str, int], "a mapping: {name: value}"),
    ],
)
def test_types_are_described_in_words(kind, words):
    assert describe_type(kind) == words


OWN_ENVIRONMENTS = """
import gymnasium as gym
import numpy as np

class Good(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (2,))
    action_space = gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}
    def step(self, action):
        self.left -= 1
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), 1.0, self.left == 0, False, {}

class Bad(Good):
    def step(self, action):
        return (super().step(action)[0] * 9, *super().step(action)[1:])

def unwise():
    return gym.wrappers.TransformReward(Good(), lambda reward: reward * 1e6)
"""


def test_an_environment_of_ones_own_is_checked_by_command(command, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("own_environments.py").write_text(OWN_ENVIRONMENTS)
    code, out, err = command("check-env", "own_environments:Good", "steps=50")
    assert (code, out, err) == (0, "own_environments:Good: no problems in 50 random steps.\n", "")
    code, out, err = command("check-env", "own_environments:Bad")
    assert code == 1
    assert err.startswith("rlgrad: Bad has 1 problem:\n  1. ")
    code, out, _ = command("check-env", "own_environments:unwise", "seed=3")
    assert code == 0
    assert "Remark: " in out
    assert command("check-env", "CartPole-v1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["Carpole-v1"], r"Carpole-v1: .*doesn't exist.*CartPole"),
        (["no_such_module:Env"], r"no module 'no_such_module', neither installed nor in "),
        (["json:NoEnv-v0"], r"Module 'json' has no 'NoEnv-v0' that makes an environment"),
        (["CartPole-v1", "step=3"], r"no setting 'step=3'.*Did you mean 'steps'"),
        (["CartPole-v1", "steps=few"], r"steps is a whole number, not 'few'"),
    ],
)
def test_an_environment_that_cannot_be_found_is_told_in_one_line(command, arguments, pattern):
    code, out, err = command("check-env", *arguments)
    assert code == 2
    assert not out
    assert err.startswith("rlgrad: ")
    assert err.count("\n") == 1
    assert re.search(pattern, err)
