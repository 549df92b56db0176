"""Arrays of any namespace of the array API standard, and functions that the standard lacks.

array-api-compat provides the functions of the standard for PyTorch and CuPy. Functions that are not
in the standard (assignment by index, the largest numbers of rows) are called from PyTorch, CuPy and
NumPy, with slower code for other arrays.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from types import ModuleType
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from manyclass.utils.types import Array, CsrArray, DeviceArray

# For tests without a GPU: whether arrays of namespaces other than NumPy on the CPU count as arrays
# on a device (the core trains on the CPU); whether devices count as devices without float64; the
# bytes of a device that count as free.
CPU_COUNTS = False
LACKS_DOUBLE = False
FREE_MEMORY: int | None = None

NUMBERS_AT_A_TIME = 1 << 26  # numbers in a block of rows, k or d for each row


def is_on_device(X: object) -> bool:
    """Whether X is an array (PyTorch, CuPy or others) on a device, or is copied to one."""
    if getattr(X, "goes_to_device", False):  # HostRows
        return True
    if isinstance(X, np.ndarray) or not is_array(X):
        return False
    where = str(getattr(X, "device", "cpu"))  # on the CPU, without array-api-compat
    return CPU_COUNTS or not (where == "cpu" or "CPU_DEVICE" in where)


def is_array(X: object) -> bool:
    """Whether X is an array of the standard, without importing its module."""
    modules = {base.__module__.partition(".")[0] for base in type(X).__mro__}
    if modules & {"torch", "cupy"}:
        return hasattr(X, "shape")
    return "array_api_strict" in modules


@lru_cache(maxsize=1)
def _compat() -> ModuleType:
    """Import array-api-compat."""
    try:
        return importlib.import_module("array_api_compat")
    except ImportError:
        raise ImportError(
            "training on a device needs a package: pip install array-api-compat"
        ) from None


def namespace_of(X: DeviceArray) -> ModuleType:
    """Return the namespace of an array."""
    xp: ModuleType = _compat().array_namespace(X)
    return xp


def device_of(X: DeviceArray) -> object:
    """Return the device of an array."""
    device: object = _compat().device(X)
    return device


def to_numpy(X: DeviceArray) -> Array:
    """Return an array as an ndarray, copied from its device."""
    if isinstance(X, np.ndarray):
        return X
    if is_torch(X):
        X = X.detach().resolve_conj().resolve_neg()
        if str(X.dtype) == "torch.bfloat16":  # NumPy has no such type
            X = X.float()
        return np.asarray(X.cpu().numpy())
    if _compat().is_cupy_array(X):
        return np.asarray(X.get())
    return np.array(np.from_dlpack(X))


def is_torch(X: DeviceArray) -> bool:
    """Whether X is a tensor of PyTorch."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(X).__mro__)


def dtype_name(X: DeviceArray) -> str:
    """Return the name of the dtype of an array, such as "float32" or "bfloat16"."""
    return str(X.dtype).rpartition(".")[2]


def spans(n: int, step: int) -> Iterator[slice]:
    """Yield slices of the rows 0 to n - 1."""
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


class FullPrecision:
    """Turns off TF32 in PyTorch, so that float32 products are exact; one switch per process."""

    FULL: ClassVar = {"fp32_precision": "ieee", "allow_tf32": False}

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._holders = 0
        self._before: object = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Turn off TF32 in the block; the last of several threads restores it."""
        matmul = sys.modules["torch"].backends.cuda.matmul
        name = "fp32_precision" if hasattr(matmul, "fp32_precision") else "allow_tf32"
        with self._changing:
            if not self._holders:
                self._before = getattr(matmul, name)
                setattr(matmul, name, self.FULL[name])
            self._holders += 1
        try:
            yield
        finally:
            with self._changing:
                self._holders -= 1
                if not self._holders:
                    setattr(matmul, name, self._before)


FULL_PRECISION = FullPrecision()


class Place:
    """The namespace and the device of an array, for making other arrays."""

    def __init__(self, X: DeviceArray) -> None:
        self.xp = namespace_of(X)
        self.device: DeviceArray = device_of(X)
        self.is_torch = is_torch(X)
        self.is_gpu = self.is_torch and str(self.device).startswith("cuda")
        # Whether the device computes in float64.
        self.has_double = not (LACKS_DOUBLE or str(self.device).startswith("mps"))
        self._indexes = self.is_torch or _compat().is_cupy_array(X)

    def __reduce__(self) -> tuple[type[Place], tuple[DeviceArray]]:
        """Pickle an array on the device, as a module cannot be pickled."""
        return Place, (self.zeros((0,), self.xp.float32),)

    @property
    def wide(self) -> object:
        """The dtype of sums."""
        return self.xp.float64 if self.has_double else self.xp.float32

    def on_cpu(self) -> Place:
        """Return a place in the memory of the CPU, which supports float64."""
        there = copy(self)
        if self.is_torch:
            there.device = sys.modules["torch"].device("cpu")
            there.is_gpu = False
        there.has_double = True
        return there

    def asarray(self, numbers: DeviceArray, dtype: object = None) -> DeviceArray:
        """Return numbers as an array on this device."""
        if isinstance(numbers, np.ndarray):
            if self.is_torch and not numbers.flags.writeable:
                numbers = numbers.copy()  # PyTorch warns about read-only memory
            if not self.has_double and numbers.dtype == np.float64:
                numbers = numbers.astype(np.float32)
            numbers = self.xp.asarray(numbers, device=self.device)
        return numbers if dtype is None else self.xp.astype(numbers, dtype)

    def taken(self, A: DeviceArray) -> DeviceArray:
        """Return an array of this namespace on this device."""
        if isinstance(A, np.ndarray) or str(device_of(A)) != str(self.device):
            return A.to(self.device) if self.is_torch and is_torch(A) else self.asarray(to_numpy(A))
        return A

    def zeros(self, shape: tuple[int, ...], dtype: object) -> DeviceArray:
        """Return zeros."""
        return self.xp.zeros(shape, dtype=dtype, device=self.device)

    def arange(self, n: int) -> DeviceArray:
        """Return the numbers 0 to n - 1."""
        return self.xp.arange(n, device=self.device)

    def where(self, condition: DeviceArray, X: DeviceArray, other: float) -> DeviceArray:
        """Return X where the condition holds, else a number."""
        if self.is_torch:
            return self.xp.where(condition, X, other)
        number = self.xp.asarray(other, dtype=X.dtype, device=self.device)
        return self.xp.where(condition, X, number)

    def rows_of(self, X: DeviceArray, rows: Array) -> DeviceArray:
        """Return a copy of some rows, given their numbers on the host."""
        return self.xp.take(X, self.asarray(np.asarray(rows, np.int64)), axis=0)

    def shuffled(self, A: DeviceArray, rng: np.random.Generator) -> DeviceArray:
        """Return a vector in random order."""
        if self.is_gpu:
            torch = sys.modules["torch"]
            generator = torch.Generator(device=A.device)
            generator.manual_seed(int(rng.integers(2**63)))
            return A[torch.randperm(len(A), generator=generator, device=A.device)]
        return self.rows_of(A, rng.permutation(A.shape[0]))

    def put_rows(self, A: DeviceArray, rows: DeviceArray, values: DeviceArray) -> None:
        """Set A[rows] = values, in place; rows must be distinct."""
        if self._indexes:
            A[rows] = values
            return
        for at, row in enumerate(to_numpy(rows).tolist()):
            A[row, ...] = values[at, ...]

    def csr(self, A: DeviceArray) -> CsrArray:
        """Return a copy of the non-zeros of a matrix on the host."""
        xp, flat = self.xp, self.xp.reshape(A, (-1,))
        at = xp.nonzero(flat)[0]
        counts = to_numpy(xp.sum(xp.astype(A != 0, xp.int64), axis=1))
        values, places = to_numpy(xp.take(flat, at)), to_numpy(at)
        ends = np.append(0, np.cumsum(counts))
        kind = sp.get_index_dtype(maxval=max(len(places), *A.shape))
        columns = (places % A.shape[1]).astype(kind)
        return sp.csr_array((values, columns, ends.astype(kind)), shape=tuple(A.shape))

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Launch kernels on this device in the block, without the automatic casts of PyTorch."""
        with contextlib.ExitStack() as stack:
            if self.is_torch:
                torch = sys.modules["torch"]
                kind = "cuda" if self.is_gpu else "cpu"
                stack.enter_context(torch.autocast(kind, enabled=False))
                if self.is_gpu:
                    stack.enter_context(torch.cuda.device(self.device))
            elif self._indexes:
                stack.enter_context(self.device)  # a device of CuPy
            yield

    def softmax(self, S: DeviceArray) -> DeviceArray:
        """Return the softmax of each row."""
        if self.is_torch:
            return S.softmax(1)
        E = self.xp.exp(S - self.xp.max(S, axis=1, keepdims=True))
        E /= self.xp.sum(E, axis=1, keepdims=True)
        return E

    def log_sum_exp(self, S: DeviceArray) -> DeviceArray:
        """Return log sum exp of each row, shape (m,)."""
        if self.is_torch:
            return S.logsumexp(1)
        top = self.xp.max(S, axis=1)
        return top + self.xp.log(self.xp.sum(self.xp.exp(S - top[:, None]), axis=1))

    def softmax_product(self, P: DeviceArray, T: DeviceArray) -> DeviceArray:
        """Return p * (t - p . t) of each row, the derivative of the softmax p along t."""
        if self.is_torch:
            return sys.modules["torch"].ops.aten._softmax_backward_data(T, P, 1, P.dtype)
        T = T - self.xp.sum(P * T, axis=1, keepdims=True)
        T *= P
        return T

    @contextlib.contextmanager
    def exact_products(self) -> Iterator[None]:
        """Compute products of float32 in float32 instead of TF32 in the block."""
        if not self.is_gpu:
            yield
            return
        with FULL_PRECISION.held():
            yield

    def free_memory(self) -> int | None:
        """Return the free bytes of the device; None if unknown."""
        if FREE_MEMORY is not None:
            return FREE_MEMORY
        if self.is_gpu:
            torch = sys.modules["torch"]
            free: int = torch.cuda.mem_get_info(self.device)[0]
            kept = torch.cuda.memory_reserved(self.device)
            return free + int(kept) - int(torch.cuda.memory_allocated(self.device))
        return None
