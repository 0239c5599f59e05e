// Mutual information of jointly normal variables on the GPU: twin of gaussian.py.
//
// Of whitened variables, one matrix product has given the cross-covariances K of all pairs of a
// tile; a pair is a DIM x DIM block of it. One thread a pair: -1/2 ln det(I - K K^T), the product of
// the pivots of an elimination in registers. Threads of a warp take neighbouring columns, so that
// their reads lie side by side.
//
// Compile-time: DIM (coordinates of a variable). Plain CUDA C++: no headers.

// correlation: (rows * DIM, columns * DIM), covariances of whitened variables; mi_nats: (rows,
// columns). smallest: what a pivot that rounding has brought to nothing counts as.
extern "C" __global__ void gaussian_mutual_information(const double *correlation, int rows,
                                                       int columns, double smallest, double *mi_nats)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (column >= columns || row >= rows) return;
    const size_t width = (size_t)columns * DIM;
    const double *k = correlation + (size_t)row * DIM * width + (size_t)column * DIM;
    double m[DIM][DIM];
#pragma unroll
    for (int a = 0; a < DIM; ++a)
#pragma unroll
        for (int b = 0; b <= a; ++b) {
            double sum = a == b ? 1.0 : 0.0;
#pragma unroll
            for (int c = 0; c < DIM; ++c) sum -= k[a * width + c] * k[b * width + c];
            m[a][b] = sum;
        }
    double log_determinant = 0.0;
#pragma unroll
    for (int p = 0; p < DIM; ++p) {
        const double pivot = fmax(m[p][p], smallest);
        log_determinant += log(pivot);
#pragma unroll
        for (int a = p + 1; a < DIM; ++a)
#pragma unroll
            for (int b = p + 1; b <= a; ++b) m[a][b] -= m[a][p] * m[b][p] / pivot;
    }
    mi_nats[(size_t)row * columns + column] = fmax(0.0, -0.5 * log_determinant);
}
