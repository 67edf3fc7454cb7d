"""Writing modules as ONNX models, for runtimes that know nothing of this library."""

from rlgrad.onnx.exporting import ExportError, export

__all__ = ["ExportError", "export"]
