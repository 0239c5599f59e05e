// Sums of every row's B-spline weights, and its largest value: twin of bin_sums in bspline.py, bit for
// bit (compiled without fused multiply-add). One thread a row adds the samples in their order.
//
// Compile-time: BINS, ORDER.

#include "basis.cuh"

// z: (rows, samples) in [0, BINS - ORDER + 1], NaN where missing; sums: (rows, BINS); largest: (rows,),
// -infinity where every value is missing.
extern "C" __global__ void bin_sums(const double *z, int rows, int samples, const double *knots,
                                    double *sums, double *largest)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double *mine = sums + (size_t)row * BINS;
    for (int b = 0; b < BINS; ++b) mine[b] = 0.0;
    double most = -__longlong_as_double(0x7ff0000000000000LL); // infinity
    for (int sample = 0; sample < samples; ++sample) {
        const double value = z[(size_t)row * samples + sample];
        if (isnan(value)) continue;
        most = fmax(most, value);
        double basis[ORDER];
        const int first = spline_basis(value, knots, basis);
#pragma unroll
        for (int a = 0; a < ORDER; ++a) mine[first + a] += basis[a];
    }
    largest[row] = most;
}
