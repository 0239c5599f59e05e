// Mutual information of all pairs of a tile on the GPU: twin of kernels.py and bspline.py.
//
//   bspline_weights                 z -> dense weights, one row for each (gene, bin)
//   [cuBLAS: joint = W_rows W_columns^T]
//   mutual_information_from_joint   joint tables -> bits, one thread a pair
//
// On a GPU the dense product wins, zeros and all: cuBLAS runs it on the tensor cores, and one product
// gives the joint tables of a whole tile. A pair's table is BINS rows of BINS neighbouring values, so
// the last kernel reads 32 tables side by side, row by row, and never writes them again.
//
// Compile-time: REAL (float | double: joint tables and results), WEIGHT (__half | float | double),
// BINS, ORDER.

#include <cuda_fp16.h>

#include "basis.cuh"

__device__ __forceinline__ float log2_of(float x) { return __log2f(x); }
__device__ __forceinline__ double log2_of(double x) { return log2(x); }
__device__ __forceinline__ void store_weight(__half *to, double w) { *to = __double2half(w); }
__device__ __forceinline__ void store_weight(float *to, double w) { *to = (float)w; }
__device__ __forceinline__ void store_weight(double *to, double w) { *to = w; }

// x log2 x; 0 for an empty cell.
__device__ __forceinline__ REAL x_log2_x(REAL x) { return x > (REAL)0 ? x * log2_of(x) : (REAL)0; }

// z: (genes, samples) in [0, BINS - ORDER + 1], NaN where missing; knots: BINS + ORDER values;
// weights: (genes * BINS, padded_samples), zeroed by the caller.
extern "C" __global__ void bspline_weights(const double *z, int genes, int samples, int padded_samples,
                                           const double *knots, WEIGHT *weights)
{
    const int sample = blockIdx.x * blockDim.x + threadIdx.x;
    const int gene = blockIdx.y;
    if (sample >= samples || gene >= genes) return;
    const double value = z[(size_t)gene * samples + sample];
    if (isnan(value)) return;
    double basis[ORDER];
    const int first = spline_basis(value, knots, basis);
#pragma unroll
    for (int a = 0; a < ORDER; ++a)
        store_weight(weights + ((size_t)gene * BINS + first + a) * padded_samples + sample, basis[a]);
}

// joint: (rows * BINS, columns * BINS), row-major; bits: (rows, out_stride).
// One warp takes 32 neighbouring columns of one row, so that each of the BINS table rows is one
// contiguous read of 32 * BINS values, handed out through shared memory (dynamic: WARPS * 32 * BINS).
extern "C" __global__ void mutual_information_from_joint(const REAL *joint, int rows, int columns,
                                                         long long out_stride, REAL *bits)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    const int lane = threadIdx.x & 31;
    REAL *staged = reinterpret_cast<REAL *>(shared_bytes) + (threadIdx.x >> 5) * 32 * BINS;
    const int row = blockIdx.y * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int column0 = blockIdx.x * 32;
    if (row >= rows) return; // a whole warp leaves
    const int here = min(32, columns - column0);
    const size_t width = (size_t)columns * BINS;
    const REAL *from = joint + (size_t)row * BINS * width + (size_t)column0 * BINS;

    REAL column_sums[BINS];
#pragma unroll
    for (int b = 0; b < BINS; ++b) column_sums[b] = 0;
    REAL score = 0, total = 0;
    for (int a = 0; a < BINS; ++a) {
        for (int q = lane; q < here * BINS; q += 32) staged[q] = from[a * width + q];
        __syncwarp();
        REAL row_sum = 0;
        if (lane < here) {
#pragma unroll
            for (int b = 0; b < BINS; ++b) {
                const REAL c = staged[lane * BINS + b];
                row_sum += c;
                column_sums[b] += c;
                score += x_log2_x(c);
            }
        }
        score -= x_log2_x(row_sum);
        total += row_sum;
        __syncwarp();
    }
    if (lane >= here) return;
#pragma unroll
    for (int b = 0; b < BINS; ++b) score -= x_log2_x(column_sums[b]);
    score += x_log2_x(total);
    const REAL result = total > (REAL)0 ? score / total : (REAL)0;
    bits[(size_t)row * out_stride + column0 + lane] = result > (REAL)0 ? result : (REAL)0;
}
