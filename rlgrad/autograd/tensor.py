"""The tensor: an array with a place in the recorded graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.autograd.graph import VIEW, Hooks, LeafNode, Node, OutputOf, RemovableHandle, next_sequence
from rlgrad.autograd.modes import InferenceCell, inferring, modes, new_cell
from rlgrad.backend import devices, dtypes, layouts

_new = object.__new__
_ndarray = np.ndarray


class Size(tuple):
    """A shape: a tuple of ints with ``numel()``."""

    __slots__ = ()

    def numel(self) -> int:
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        result = tuple.__getitem__(self, index)
        return Size(result) if isinstance(index, slice) else result

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, count: Any) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


class ViewInfo:
    """How a view was taken from its base, so that its gradient edge can be renewed after an in-place change.

    Attributes:
        base: the tensor that owns the memory; never a view itself.
        chain: ``(op, attributes, output)`` steps that lead from the base to the view.
        node: the view's edge, valid while the version cell stands at ``version``.
        tracked: taken while recording, so that the view takes part in its base's history.
    """

    __slots__ = ("base", "chain", "node", "tracked", "version")
    base: Tensor
    chain: tuple[tuple[Any, tuple[Any, ...], int | None], ...]
    node: Node | None
    version: int
    tracked: bool

    def edge(self, view: Tensor) -> Node | None:
        """The view's present edge, renewed from the base if something was written in place since."""
        version = view._cell[0]
        if version != self.version:
            if self.tracked and self.base._edge is not None and any(output is not None for _, _, output in self.chain):
                raise RuntimeError(
                    f"Output {self.chain[-1][2] or 0} of {self.node.name() if self.node else 'a function'} is a view and its "
                    "base or another view of its base has been modified inplace. A view made by a function that returns "
                    "several cannot take part after that: make it afterwards, or clone() it."
                )
            self.version = version
            if self.tracked and self.base._edge is not None:
                self.node = self._renewed(view)
            elif self.tracked:
                self.node = None
        return self.node

    def _renewed(self, view: Tensor) -> Node:
        """The whole way from the base to the view as one node, as PyTorch's ``as_strided`` makes it."""
        from rlgrad.autograd.ops.shape import view_gather
        from rlgrad.autograd.registry import edge_of

        base = self.base
        node = view_gather.node()
        node.plan = view_gather.plan((0,))
        node.edges = (edge_of(base),)
        node.seq, node.hooks = next_sequence(), None
        node.shape, node.dtype = view._array.shape, view._array.dtype
        node.saved = node.plan.pick((base._array, self.chain, view._array))
        node.saved += tuple([base._array.shape for _ in node.plan.shapes])
        node.cells = node.versions = ()
        return node

    def replay(self, array: Any) -> Any:
        """Take the same view of another raw array that has the base's shape."""
        xp = np if array.__class__ is _ndarray else devices.cupy()
        for op, attributes, output in self.chain:
            array = op.forward(xp, array, *attributes)
            if output is not None:
                array = array[output]
        return array


def wrap(array: Any) -> Tensor:
    """A tensor over a raw array (no copy), with no history; NumPy scalars become 0-d arrays."""
    if array.__class__ is not _ndarray and isinstance(array, np.generic):
        array = np.asarray(array)
    tensor = _new(Tensor)
    tensor._array = array
    tensor._edge = None
    tensor._cell = new_cell() if inferring else [0]
    tensor._view = None
    tensor._extra = None
    return tensor


class Tensor:
    """An n-dimensional array that records what is computed from it, with PyTorch's methods and semantics.

    Make one with :func:`rlgrad.tensor`, :func:`rlgrad.from_numpy` or a factory such as :func:`rlgrad.zeros`. Most
    methods come from the op registry.

    Example:
        >>> import rlgrad
        >>> w = rlgrad.tensor([1.0], requires_grad=True)
        >>> (w * 3).backward()
        >>> w.grad
        tensor([3.])
    """

    # _edge: None when no gradient is wanted, LeafNode for a leaf, VIEW for a view, otherwise the recorded node.
    # _cell: one-element list with the version of the storage, shared by all its views and detached aliases.
    # _extra: rare attributes (retained gradient, gradient of a tensor that no longer requires one, ...).
    __slots__ = ("__weakref__", "_array", "_cell", "_edge", "_extra", "_view")
    __array_priority__ = 1000
    __hash__ = object.__hash__

    _array: Any
    _edge: Any
    _cell: list[int]
    _view: ViewInfo | None
    _extra: dict[str, Any] | None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __pos__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        from rlgrad.autograd.ops.creation import legacy_tensor

        return legacy_tensor(cls, dtypes.get_default_dtype(), args, **kwargs)

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or its extent in one dimension."""
        if dim is None:
            return Size(self._array.shape)
        try:
            return self._array.shape[dim]
        except IndexError:
            raise dim_error(dim, self._array.ndim) from None

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        return self._array.itemsize

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours in elements, for every dimension or one."""
        strides = tuple(s // self._array.itemsize for s in self._array.strides)
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        if self._view is None:
            return 0
        base = self._view.base._array
        address = lambda a: a.__array_interface__["data"][0] if isinstance(a, _ndarray) else a.data.ptr  # noqa: E731
        return (address(self._array) - address(base)) // self._array.itemsize

    def data_ptr(self) -> int:
        """Address of the first element."""
        array = self._array
        return array.__array_interface__["data"][0] if isinstance(array, _ndarray) else array.data.ptr

    def is_contiguous(self, memory_format: Any = None) -> bool:
        if memory_format is layouts.channels_last and self._array.ndim == 4:
            return bool(self._array.transpose(0, 2, 3, 1).flags.c_contiguous)
        if memory_format is layouts.channels_last_3d and self._array.ndim == 5:
            return bool(self._array.transpose(0, 2, 3, 4, 1).flags.c_contiguous)
        return bool(self._array.flags.c_contiguous)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.dtype.by_numpy[self._array.dtype]

    @property
    def device(self) -> devices.device:
        return devices.device_of(self._array)

    @property
    def is_cuda(self) -> bool:
        return not isinstance(self._array, _ndarray)

    @property
    def is_cpu(self) -> bool:
        return isinstance(self._array, _ndarray)

    @property
    def real(self) -> Tensor:
        """The tensor itself: no dtype here is complex."""
        return self

    @property
    def imag(self) -> Tensor:
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes, got {self.dtype!r}")

    @property
    def layout(self) -> layouts.layout:
        return layouts.strided

    is_meta = is_mkldnn = is_mps = is_nested = is_quantized = is_sparse = is_sparse_csr = is_xpu = False

    def is_conj(self) -> bool:
        return False

    is_neg = is_conj

    def get_device(self) -> int:
        return -1 if isinstance(self._array, _ndarray) else self._array.device.id

    def is_floating_point(self) -> bool:
        return self._array.dtype.kind == "f"

    def is_complex(self) -> bool:
        return False

    def is_signed(self) -> bool:
        return self._array.dtype.kind in "if"

    @property
    def _version(self) -> int:
        if self._cell.__class__ is InferenceCell:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._cell[0]

    @property
    def requires_grad(self) -> bool:
        edge = self._edge
        return (self._view.edge(self) if edge is VIEW else edge) is not None  # type: ignore[union-attr]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make a leaf collect gradients, or stop collecting them.

        Raises:
            RuntimeError: for an integer or bool tensor, or for switching a non-leaf off.
        """
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        if requires_grad:
            if edge is None:
                self._require_floating()
                if self._cell.__class__ is InferenceCell and not modes.inference:
                    raise RuntimeError(
                        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Make a clone "
                        "and work on that."
                    )
                leaf = LeafNode(self)
                extra = self._extra
                if extra is not None and extra.get("grad") is not None:
                    leaf.grad = extra.pop("grad")
                if self._view is not None:
                    self._view = None  # a view of constants that now is a leaf of its own
                self._edge = leaf
        elif edge is not None:
            if not isinstance(edge, LeafNode):
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            self._edge = None
            if edge.grad is not None:
                self._rare()["grad"] = edge.tensor()
        return self

    def _require_floating(self) -> None:
        if self._array.dtype.kind != "f":
            raise RuntimeError(
                f"only Tensors of floating point dtype can require gradients, got {self.dtype!r}; "
                "convert it first, for example with .float()"
            )

    def _rare(self) -> dict[str, Any]:
        if self._extra is None:
            self._extra = {}
        return self._extra

    @property
    def is_leaf(self) -> bool:
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        return edge is None or isinstance(edge, LeafNode)

    @property
    def grad_fn(self) -> Node | None:
        """The node that recorded how this tensor was made; ``None`` for leaves."""
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        if isinstance(edge, LeafNode):
            return None
        return edge.edges[0] if isinstance(edge, OutputOf) else edge

    @property
    def output_nr(self) -> int:
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        return edge.index if isinstance(edge, OutputOf) else 0

    @property
    def grad(self) -> Tensor | None:
        """What backward has accumulated for this leaf, or for a tensor on which ``retain_grad()`` was called."""
        edge = self._edge
        if edge.__class__ is LeafNode:
            return edge.tensor()
        if self._extra is not None and "grad" in self._extra:
            return self._extra["grad"]
        if edge is not None and not self.is_leaf and not self.retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return None

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(value.shape)}, expected {list(self.shape)}"
                )
            if value._array.dtype != self._array.dtype:
                raise RuntimeError(f"assigned grad has dtype {value.dtype!r}, expected {self.dtype!r}")
            if value.device != self.device:
                raise RuntimeError(f"assigned grad is on {value.device}, expected {self.device}")
        if isinstance(self._edge, LeafNode):
            self._edge.grad = value
        else:
            self._rare()["grad"] = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in ``.grad`` during backward."""
        edge = self._own_edge("can't retain_grad on Tensor that has requires_grad=False")
        if not isinstance(edge, LeafNode):
            self._rare()["grad"] = None
            edge.hooked().retain = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        hooks: Hooks | None = None if edge is None else edge.hooks
        return hooks is not None and hooks.retain is not None and hooks.retain() is self

    def _own_edge(self, complaint: str) -> Node:
        edge = self._view.edge(self) if self._edge is VIEW else self._edge  # type: ignore[union-attr]
        if edge is None:
            raise RuntimeError(complaint)
        return edge

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever this tensor's gradient is computed; a returned tensor replaces it."""
        edge = self._own_edge("cannot register a hook on a tensor that doesn't require gradient")
        return edge.hooked().add("tensor", hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after backward added to this leaf's ``.grad``."""
        edge = self._own_edge("cannot register a hook on a tensor that doesn't require gradient")
        if not isinstance(edge, LeafNode):
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return edge.hooked().add("post_accumulate", hook)

    def detach(self) -> Tensor:
        """The same memory without history; in-place changes are seen, and noticed, on both sides."""
        result = wrap(self._array)
        result._cell = self._cell
        return result

    def detach_(self) -> Tensor:
        """Cut this tensor from its history, making it a leaf."""
        if self._view is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead")
        self._edge = None
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version of its own: changes through it go unnoticed."""
        return wrap(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        self._array = value._array
        edge = self._edge
        if isinstance(edge, LeafNode):
            edge.shape, edge.dtype = value._array.shape, value._array.dtype

    def is_inference(self) -> bool:
        """Made in inference mode: it can be read, but neither recorded nor written to outside."""
        return self._cell.__class__ is InferenceCell

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as a NumPy array that shares this tensor's memory.

        Args:
            force: detach and copy from the GPU as needed instead of raising.
        """
        if force:
            return devices.to_host(self._array)
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if not isinstance(self._array, _ndarray):
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return array if dtype is None and not copy else np.array(array, dtype=dtype, copy=True if copy else None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        """What NumPy's functions of a tensor give back: a tensor."""
        return wrap(np.asarray(array))

    def item(self) -> Any:
        """The only element as a Python number."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._array.tolist()

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __copy__(self) -> Tensor:
        return self._rebuilt(self._array)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
                "call .detach() first"
            )
        memo[id(self)] = result = self._rebuilt(self._array.copy())
        if self.grad is not None:
            result.grad = self.grad.__deepcopy__(memo)
        return result

    def _rebuilt(self, array: Any) -> Tensor:
        result = wrap(array)
        if self.requires_grad and self.is_leaf:
            result.requires_grad_()
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("a non-leaf tensor that requires grad cannot be pickled; call .detach() first")
        return (_unpickle, (type(self), devices.to_host(self._array), str(self.device), self.requires_grad))

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self._array.size != 1:
            problem = "no values" if self._array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {problem} is ambiguous")
        return bool(self._array.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iub" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0:
            return format(self.item(), spec)
        return _no_format(self) if spec else str(self)

    def __contains__(self, element: Any) -> bool:
        value = element._array if isinstance(element, Tensor) else element
        return bool((self._array == value).any())

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    def __repr__(self) -> str:
        from rlgrad.autograd.printing import tensor_repr

        kind = self.__class__.__name__
        return tensor_repr(self, "tensor(" if kind in ("Tensor", "Parameter", "Buffer") else f"{kind}(")


def _no_format(tensor: Tensor) -> str:
    raise TypeError(f"unsupported format string passed to a tensor of shape {list(tensor.shape)}; format tensor.item()")


def _unpickle(cls: type[Tensor], array: np.ndarray, device: str, requires_grad: bool) -> Tensor:
    array = array.astype(array.dtype.type)  # pickled dtypes are equal to NumPy's own, but other objects
    tensor = wrap(devices.move(array, devices.as_device(device)))
    if cls is not Tensor:
        tensor = cls(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def dim_error(dim: int, ndim: int) -> IndexError:
    """PyTorch's error for a dimension that a tensor does not have."""
    low, high = -max(ndim, 1), max(ndim, 1) - 1
    return IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
