"""Products of matrices in number types that ``cupy.matmul`` does not take."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from pairtile.arrays import CupyArray


def matrix_product_transposed(cupy: ModuleType, a: CupyArray, b: CupyArray, out: CupyArray) -> None:
    """out = a b^T for row-major a (m, k), b (n, k); float16 input is summed in float32.

    Straight to cuBLAS, because ``cupy.matmul`` would round a product of float16 to float16.
    """
    from cupy.cuda import cublas, device

    m, k = a.shape
    n = b.shape[0]
    handle = device.get_cublas_handle()
    dtype = np.dtype(out.dtype)
    one = np.array(1.0, dtype=dtype)
    zero = np.array(0.0, dtype=dtype)
    real_types = {np.dtype(np.float16): 2, np.dtype(np.float32): 0, np.dtype(np.float64): 1}
    compute = {np.dtype(np.float32): 68, np.dtype(np.float64): 70}  # CUBLAS_COMPUTE_32F, _64F
    cublas.setPointerMode(handle, 0)  # alpha and beta are on the host
    cublas.gemmEx(
        handle,
        cublas.CUBLAS_OP_T,
        cublas.CUBLAS_OP_N,
        n,
        m,
        k,
        one.ctypes.data,
        b.data.ptr,
        real_types[np.dtype(b.dtype)],
        k,
        a.data.ptr,
        real_types[np.dtype(a.dtype)],
        k,
        zero.ctypes.data,
        out.data.ptr,
        real_types[dtype],
        n,
        compute[dtype],
        -1,  # CUBLAS_GEMM_DEFAULT
    )
