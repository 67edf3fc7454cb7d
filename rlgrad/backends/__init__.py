"""Switches of the libraries that PyTorch computes with, for programs that set them.

They can be set and read and change nothing: convolutions and products here use neither cuDNN nor lower precision. What
asks whether a library is there gets the truth.

Example:
    >>> import rlgrad
    >>> rlgrad.backends.cudnn.benchmark = True
    >>> rlgrad.backends.cudnn.is_available()
    False
    >>> rlgrad.backends.cudnn.benchmark = False
"""

from rlgrad.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
