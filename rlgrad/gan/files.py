"""Data of the user's own: arrays in a file, pictures in a folder."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rlgrad.gan.sources import ArraySource, Seed, Source

__all__ = ["images", "npz"]

_PICTURES = (".png", ".jpg", ".jpeg")


def npz(path: str, seed: Seed = None) -> Source:
    """Arrays ``samples`` and perhaps ``labels`` and ``held_out`` from a file of :func:`numpy.savez`; never runs code
    from it.

    Args:
        path: the file; its arrays are those of :class:`~rlgrad.gan.sources.ArraySource`.
        seed: of the order.

    Raises:
        ValueError: the file is missing, is no such file, has no ``samples``, or they cannot be trained on.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("samples", "labels", "held_out") if name in file}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        objects = "it holds pickled Python objects, which could run code and are never loaded"
        reason = objects if "pickle" in str(error) else error
        raise ValueError(f"{path} cannot be read as an .npz file of plain arrays: {reason}") from error
    if "samples" not in arrays:
        raise ValueError(f"{path} has no array 'samples': write it with np.savez(path, samples=..., labels=...)")
    try:
        return ArraySource(**arrays, seed=seed, name="npz", options={"path": str(Path(path).absolute())})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def images(path: str, size: int = 32, color: bool = True, seed: Seed = None) -> Source:
    """The PNG and JPEG files of a folder and its subfolders, cropped to squares and scaled; needs the extra ``images``.

    What is transparent becomes white. Other files are passed over, and so are hidden ones.

    Args:
        path: folder. Subfolders directly in it are classes, if every picture lies in one.
        size: height and width to scale to.
        color: keep three channels; otherwise one of grey.
        seed: of the order.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: the folder does not exist, holds no pictures, or one cannot be read.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("reading pictures needs the extra 'images': pip install 'rlgrad[images]'") from error
    if size < 1:
        raise ValueError(f"data.size is the height and width of the images, at least 1; got {size}")
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"data.path={path}: there is no folder {folder.absolute()}")
    files = [(file, file.relative_to(folder).parts) for file in sorted(folder.rglob("*"))]
    files = [
        (file, parts)
        for file, parts in files
        if file.suffix.lower() in _PICTURES and not any(part.startswith(".") for part in parts)
    ]
    if not files:
        raise ValueError(f"data.path={path}: there are no {', '.join(_PICTURES)} files in {folder.absolute()}")
    pixels = np.empty((len(files), 3 if color else 1, size, size), np.float32)
    for index, (file, _) in enumerate(files):
        try:
            with Image.open(file) as picture:
                square = ImageOps.fit(_plain(ImageOps.exif_transpose(picture), color), (size, size))
        # Pillow calls a broken PNG a syntax error.
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise ValueError(f"{file} cannot be read as a picture: {error}") from error
        pixels[index] = np.asarray(square, np.float32).reshape(size, size, -1).transpose(2, 0, 1) / 127.5 - 1
    labels = None
    if all(len(parts) > 1 for _, parts in files):
        labels = np.unique([parts[0] for _, parts in files], return_inverse=True)[1]
    options = {"path": str(folder.absolute()), "size": size, "color": color}
    return ArraySource(pixels, labels, None, seed, "images", options)


def _plain(picture: Any, color: bool) -> Any:
    """A Pillow image of any mode in 8 bits of red, green and blue, or of grey."""
    from PIL import Image

    if picture.mode.startswith("I;16"):  # which convert() would cut off at 255
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB" if color else "L")
