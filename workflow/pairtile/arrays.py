"""Names of types: arrays of NumPy, and what is on a GPU.

CuPy has no types, and is imported only where a GPU computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import cupy

BoolArray = NDArray[np.bool_]
UInt8Array = NDArray[np.uint8]
UInt16Array = NDArray[np.uint16]
Int8Array = NDArray[np.int8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
IntegerArray = NDArray[np.integer]
FloatingArray = NDArray[np.floating]
AnyArray = NDArray[np.generic]

CupyArray: TypeAlias = "cupy.ndarray"
CupyModule: TypeAlias = "cupy.RawModule"
CupyKernel: TypeAlias = "cupy.RawKernel"

DeviceArray: TypeAlias = "np.ndarray | CupyArray"
"""An array of the backend at hand: of NumPy on the CPU, of CuPy on a GPU."""
