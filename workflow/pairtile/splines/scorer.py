"""B-spline mutual information of blocks of variables, on the CPU or on the GPU.

Weights of a block of variables are made once (``weights``) and paired as often as needed
(``scores``). ``precision: mixed`` rounds weights to float16 and sums joint tables in float32 on
either backend; ``float64`` uses doubles throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairtile.arrays import CupyArray, DeviceArray, Float64Array, FloatingArray, Int64Array
from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.gpu.products import matrix_product_transposed
from pairtile.splines.bspline import bspline_weights, dense_weights, knot_vector
from pairtile.splines.kernels import (
    Marginals,
    RowSamples,
    column_blocks,
    group_by_interval,
    marginal_sums,
    mutual_information_tile,
)

JOINT_BYTES = 1 << 29
"""GPU memory for the joint tables of one matrix product. A constant, not a share of what is free,
because the shape of the product decides the last bits of its result."""

SAMPLE_PADDING = 8
"""float16 rows of a multiple of 16 bytes let cuBLAS use the tensor cores at full rate."""

WARPS = 8


@dataclass(frozen=True)
class SplineSettings:
    """bins >= order >= 1; knots: clamped or uniform; precision: float64 or mixed."""

    bins: int
    order: int
    knots: str
    precision: str

    @property
    def intervals(self) -> int:
        """Width of the scaled domain: z runs from 0 to this."""
        return self.bins - self.order + 1


@dataclass(frozen=True)
class Weights:
    """Weights of a block of variables in the forms that the backend at hand wants.

    observed : float32 (variables, samples) of ones and zeros, or None where nothing is missing.
    marginals : of a complete analysis, on the CPU in float64: what ``marginal_sums`` gives.
    """

    variables: int
    observed: DeviceArray | None
    rows: RowSamples | CupyArray
    columns: FloatingArray | CupyArray
    marginals: Float64Array | None = None

    @property
    def nbytes(self) -> int:
        """Memory that they take, on the GPU where they are there, but for what is small."""
        of_rows = self.rows if isinstance(self.rows, RowSamples) else ()  # else the same array
        return sum(array.nbytes for array in (*of_rows, self.columns))


def weights_bytes(bins: int, order: int) -> tuple[int, int]:
    """Memory that each value (of a variable, in a sample) takes as weights on the CPU.

    Returns the bytes of what ``BsplineScorer.weights`` gives, and of what it holds beside while it
    makes them: values, dense weights and two layouts of them.
    """
    kept = 8 * (bins + order) + 4
    return kept, 8 * (2 * bins + order) + 24


class BsplineScorer:
    """Scores blocks of variables against each other."""

    def __init__(self, settings: SplineSettings, device: Device, complete: bool = False) -> None:
        """``complete``: no variable of the analysis misses a sample. The CPU then takes marginals
        from the variables instead of each joint table. It is said for the whole analysis, so that
        a pair's last bits do not depend on which other pairs are in its block."""
        self.settings = settings
        self.complete = complete
        self.device = device
        self._joint_bytes = JOINT_BYTES
        if device.backend == "cuda":
            from pairtile.gpu import compiling as cuda

            mixed = settings.precision == "mixed"
            self._real = np.float32 if mixed else np.float64
            self._weight = np.float16 if mixed else np.float64
            module = cuda.load(
                Path(__file__).with_name("mutual_information.cu"),
                {
                    "REAL": "float" if mixed else "double",
                    "WEIGHT": "__half" if mixed else "double",
                    "BINS": settings.bins,
                    "ORDER": settings.order,
                },
            )
            self._weights_kernel = module.get_function("bspline_weights")
            self._score_kernel = module.get_function("mutual_information_from_joint")
            # One warp needs 32 * bins values of shared memory; 48 KiB is there without asking.
            per_warp = 32 * settings.bins * np.dtype(self._real).itemsize
            self._warps = max(1, min(WARPS, 48 * 1024 // per_warp))
            self._shared = self._warps * per_warp
            self._joint: CupyArray | None = None

    def weights(self, z: DeviceArray) -> Weights:
        """Weights of variables: scaled values, float64 (variables, samples), NaN where missing; of
        NumPy, or on a GPU of CuPy."""
        xp = self.device.xp
        # The kernels count on row-major order; float16 goes to the GPU as it is.
        z = xp.asarray(z).astype(np.float64, order="C", copy=False)
        missing = xp.isnan(z)
        any_missing = bool(missing.any())
        if self.complete and any_missing:
            raise ValueError("z: found missing values; expected none in a complete analysis")
        observed = (~missing).astype(np.float32) if any_missing else None
        s = self.settings
        if self.device.backend == "cuda":
            variables, samples = z.shape
            padded = -(-samples // SAMPLE_PADDING) * SAMPLE_PADDING
            on_gpu = xp.zeros((variables * s.bins, padded), dtype=self._weight)
            self._weights_kernel(
                (-(-samples // 256), variables),
                (256,),
                (
                    z,
                    np.int32(variables),
                    np.int32(samples),
                    np.int32(padded),
                    xp.asarray(knot_vector(s.bins, s.order, s.knots)),
                    on_gpu,
                ),
            )
            return Weights(variables, observed, on_gpu, on_gpu)
        half = s.precision == "mixed"
        first, weights = bspline_weights(z, s.bins, s.order, s.knots, half=half)
        dense = dense_weights(first, weights, s.bins)
        return Weights(
            z.shape[0],
            observed,
            group_by_interval(first, weights, s.intervals),
            column_blocks(dense, np.float32 if half else np.float64),
            # Weights in float16 do not sum to one exactly: their tables speak for themselves.
            marginal_sums(dense) if self.complete and not half else None,
        )

    def scores(
        self, rows: Weights, columns: Weights, from_column: Int64Array | None = None
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """Mutual information in bits of every row variable with every column variable.

        ``from_column`` gives the first column that is wanted in each row; what lies before it may
        be left 0. Returns arrays of the backend, shape (rows, columns): bits (float64, or float32
        from the GPU in mixed precision) and the number of samples observed in both (int32), or
        None for the latter where nothing is missing.
        """
        if from_column is None:
            from_column = np.zeros(rows.variables, dtype=np.int64)
        if self.device.backend == "cuda":
            bits = self._scores_cuda(rows, columns)
        else:
            known = None
            if rows.marginals is not None and columns.marginals is not None:
                known = Marginals(rows.marginals, columns.marginals)
            bits = mutual_information_tile(
                rows.rows,
                columns.columns,
                columns.variables,
                self.settings.bins,
                self.settings.order,
                from_column,
                known,
            )
        observed = columns.observed if rows.observed is None else rows.observed
        if observed is None:
            return bits, None
        xp = self.device.xp
        first, second = (
            xp.ones((w.variables, observed.shape[1]), dtype=xp.float32)
            if w.observed is None
            else w.observed
            for w in (rows, columns)
        )
        # Exact: float32 holds every integer up to 2^24.
        return bits, (first @ second.T).astype(xp.int32)

    # --- CUDA ---------------------------------------------------------------------------------

    def _scores_cuda(self, rows: Weights, columns: Weights) -> CupyArray:
        xp = self.device.xp
        bins = self.settings.bins
        bits = xp.empty((rows.variables, columns.variables), dtype=self._real)
        row_bytes = columns.variables * bins * bins * np.dtype(self._real).itemsize
        row = 0
        while row < rows.variables:
            block = min(rows.variables - row, max(1, self._joint_bytes // row_bytes))
            try:
                self._block_cuda(rows, columns, row, block, bits[row : row + block])
            except xp.cuda.memory.OutOfMemoryError as error:
                # Halve what one product needs and go on; rows already done stay done.
                self._joint = None
                xp.get_default_memory_pool().free_all_blocks()
                if block == 1:
                    raise DeviceError(
                        f"GPU memory: found no room for one row of joint tables ({row_bytes} "
                        "bytes); expected a GPU with more free memory, or fewer bins"
                    ) from error
                self._joint_bytes = max(row_bytes, block // 2 * row_bytes)
                continue
            row += block
        return bits

    def _block_cuda(
        self, rows: Weights, columns: Weights, row: int, block: int, bits: CupyArray
    ) -> None:
        xp = self.device.xp
        bins = self.settings.bins
        n_columns = columns.variables
        size = block * bins * n_columns * bins
        if self._joint is None or self._joint.size < size:
            self._joint = None
            self._joint = xp.empty(size, dtype=self._real)
        left = rows.rows[row * bins : (row + block) * bins]
        matrix_product_transposed(xp, left, columns.columns, self._joint)
        self._score_kernel(
            (-(-n_columns // 32), -(-block // self._warps)),
            (32 * self._warps,),
            (self._joint, np.int32(block), np.int32(n_columns), np.int64(n_columns), bits),
            shared_mem=self._shared,
        )
