"""Modules as functions of their parameters, under the name that PyTorch gives them."""

from rlgrad.nn.utils.stateless import functional_call

__all__ = ["functional_call"]
