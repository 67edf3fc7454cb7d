"""Data sets, samplers and the loader, with PyTorch's names; digits, and shapes in the plane."""

from rlgrad.data.collate import default_collate, default_convert
from rlgrad.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from rlgrad.data.images import digits, mnist5k
from rlgrad.data.loader import DataLoader
from rlgrad.data.mixtures import GaussianMixture, grid, ring
from rlgrad.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from rlgrad.data.synthetic import swiss_roll, two_moons

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "GaussianMixture",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "digits",
    "grid",
    "mnist5k",
    "random_split",
    "ring",
    "swiss_roll",
    "two_moons",
]
