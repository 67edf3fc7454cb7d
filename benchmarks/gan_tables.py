"""The stored runs of ``benchmarks.gan`` as Markdown, beside what others published: docs/results_gan.md."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from benchmarks.gan import LOSSES, TASKS, load
from rlgrad.gan.diagnosis import shortfall

PAGE = Path(__file__).parent.parent / "docs" / "results_gan.md"

PUBLISHED = """\
| published | ring: modes | high quality % | reverse KL | grid: modes | high quality % | reverse KL |
| --- | --- | --- | --- | --- | --- | --- |
| GAN, in VEEGAN's table | 1 | 99.3 | | 3.3 | 0.5 | |
| unrolled GAN, in VEEGAN's table | 7.6 | 35.6 | | 23.6 | 16 | |
| VEEGAN | 8 | 52.9 | | 24.6 | 40 | |
| GAN, in PacGAN's table | 6.3 | 98.2 | 0.45 | 17.3 | 94.8 | 0.70 |
| PacGAN2 | 7.9 | 95.6 | 0.07 | 23.8 | 91.3 | 0.13 |
| PacGAN4 | 7.8 | 95.9 | 0.07 | 24.8 | 93.6 | 0.04 |
"""

HEAD = """\
# What the adversarial trainers reach

Written by `python -m benchmarks.gan results` from the runs in `benchmarks/results/gan`, which hold every setting and the
commit of each run. Figures are medians over seeds; in brackets the least and the greatest.
"""

MIXTURES = """
## Mixtures of Gaussians

The protocol of PacGAN (Lin et al. 2018): 2,500 samples; one of high quality lies within three standard deviations of the
nearest centre; a mode counts as captured with one such sample; reverse KL is that of their histogram from the uniform one.
The ring has 8 modes on a circle of radius 1 with standard deviation 0.01, the grid 25 on {-4, -2, 0, 2, 4}² with 0.05. Real
samples reach 98.9 %. Diagnosed are the seeds at whose end the trainer says what is wrong: modes that are missing or have
uneven shares, or samples of which most lie between them.
"""

NOTE = """
The published rows are from other networks, settings and budgets (PacGAN: ten trials of 400,000 steps of batch 100; figures
of a plain GAN differ sixfold between papers), so they tell what is usual, not who wins.
"""

IMAGES = """
## Images

Samples are compared with held-out images, as many as those. Precision, recall and coverage: three nearest neighbours in
pixels. Copies: samples nearer to a training image than all but one in a hundred held-out images are. feature_fid: Fréchet
distance on the 64 features of a perceptron trained here on the same classes; it is no FID and compares with nothing else.
Class fidelity: that perceptron names the class that was asked for. "Real" are as many training images in the samples'
place; "mixture" are samples of a Gaussian mixture with 10 full covariances fitted to the training images, cut to the range
of pixels.
"""

REAL = {"ring": {"modes": 8, "high_quality": 0.989}, "grid": {"modes": 25, "high_quality": 0.989}}

FIGURES = ("precision", "recall", "density", "coverage", "copies", "feature_fid", "class_fidelity")


def spread(values: list[float], scale: float = 1.0, digits: int = 3) -> str:
    """The median, and the range where there is one."""
    low, middle, high = (f"{scale * v:.{digits}f}" for v in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def settings(run: dict[str, Any]) -> str:
    """What a reader needs to repeat a run, in a line."""
    gan, data, optimizer = (run["settings"][part] for part in ("gan", "data", "optimizer"))
    limits = {
        name: gan[name]
        for name in ("r1_gamma", "r2_gamma", "gradient_penalty", "dragan_penalty", "clip_weights", "ema_half_life")
        if gan[name]
    }
    network = gan["net"] if gan["net"] != "mlp" else f"mlp {gan['hidden_sizes']}"
    return (
        f"{data['name']}: {gan['loss']}, {network}, {gan['iterations']:,} iterations of batch {gan['batch_size']}, "
        f"n_critic {gan['n_critic']}, latent {gan['latent_dim']}, {optimizer['name']} {gan['learning_rate']:g} "
        f"betas {optimizer.get('betas', '')}, decay {gan['learning_rate_decay']}, conditional {gan['conditional']}"
        + "".join(f", {name} {value:g}" for name, value in limits.items())
    )


def mixture_table(tasks: list[str]) -> str:
    """A row for each task that has runs."""
    lines = [
        "| data | loss | seeds | modes | high quality % | reverse KL | CPU s | diagnosed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for task in tasks:
        if runs := load(task):
            figures = {name: [run["figures"][name] for run in runs] for name in runs[0]["figures"]}
            data, _, loss = task.partition("_")
            lines.append(
                f"| {data} | {loss or 'relativistic, R1, R2'} | {len(runs)} | {spread(figures['modes'], 1, 0)} "
                f"| {spread(figures['high_quality'], 100, 1)} | {spread(figures['reverse_kl'])} "
                f"| {statistics.median(run['cpu_seconds'] for run in runs):.0f} "
                f"| {sum(shortfall(run['figures'], REAL[data]) is not None for run in runs) or ''} |"
            )
    return "\n".join(lines) + "\n"


def image_table(task: str) -> str:
    """A row for each figure of one task's runs."""
    runs = load(task)
    lines = [
        f"\n### {task}, {len(runs)} seed{'s' if len(runs) > 1 else ''}\n",
        "| figure | generator | real | mixture |",
        "| --- | --- | --- | --- |",
    ]
    for name in FIGURES:
        if name in runs[0]["figures"]:
            beside = (f"{runs[0][of][name]:.3f}" if name in runs[0][of] else "" for of in ("real", "mixture"))
            lines.append(f"| {name} | {spread([run['figures'][name] for run in runs])} | {' | '.join(beside)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    best = ["ring", "grid"]
    others = [f"{data}_{loss}" for data in best for loss in LOSSES]
    images = [task for task in ("digits", "mnist5k") if load(task)]
    missing = [task for task in TASKS if not load(task)]
    parts = [HEAD, MIXTURES, "\n", mixture_table(best), "\n", PUBLISHED, NOTE]
    if any(map(load, others)):
        parts += ["\nThe other losses, each with the settings of its file in `conf/gan`:\n\n", mixture_table(others)]
    parts += [IMAGES, *map(image_table, images)]
    parts += ["\n## Settings\n\n", *(f"- {settings(load(task)[0])}\n" for task in TASKS if load(task))]
    if missing:
        parts.append(f"\nNot run yet: {', '.join(missing)}.\n")
    return "".join(parts)


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE}")
