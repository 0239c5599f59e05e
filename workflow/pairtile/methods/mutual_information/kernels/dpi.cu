// Data processing inequality on the GPU: the twin of dpi.py, on the same adjacency lists
// (one row for each gene, strongest neighbour first, genes by falling degree), given array by array.
// A block takes gene A and spreads A's MI with every gene out in a dense row; each of its warps takes
// an edge AB and walks B's list, 32 entries at a time, only as far as its weights can outweigh the
// edge: neighbouring threads read neighbouring entries, and most edges are decided in one step.
//
// Compile with -DREAL=float or -DREAL=double. Plain CUDA C++: no headers.

// Whether an edge of `mi` counts as weaker than `other`; never falls as `other` grows.
__device__ __forceinline__ bool outweighs(REAL other, REAL mi, REAL threshold, int additive)
{
    return additive ? other - mi > threshold : mi < threshold * other;
}

// Mark every edge AB that some C, adjacent to both, explains away.
//
// offsets       (n_genes + 1): rows of the adjacency lists
// neighbours    (2 n_edges): each row by descending weight
// weights       (2 n_edges)
// edges         (2 n_edges): number of the edge an entry belongs to
// is_regulator  (n_genes): all 1 where there is no regulator list
// threshold     factor 1 - tolerance (relative rule) or difference (additive rule)
// additive      0 or 1: which rule
// rows          (gridDim.x, n_genes): scratch, one dense row of -infinity for each block
// removed       (n_edges): set to 1 for the edges to remove
//
// -infinity in a dense row stands for "not adjacent" and outweighs nothing. A warp takes neighbours
// B > A only, so that every edge is decided once. The grid is persistent: any number of blocks will do.
// blockDim.x must be a multiple of 32.
extern "C" __global__ void data_processing_inequality(
    const long long *offsets,
    const int *neighbours,
    const REAL *weights,
    const int *edges,
    const unsigned char *is_regulator,
    int n_genes,
    REAL threshold,
    int additive,
    REAL *rows,
    unsigned char *removed)
{
    const unsigned int full_warp = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int n_warps = blockDim.x / 32;
    const REAL not_adjacent = (REAL)(-__int_as_float(0x7f800000));
    REAL *row = rows + (long long)blockIdx.x * n_genes;

    for (int a = blockIdx.x; a < n_genes; a += gridDim.x) {
        const long long begin = offsets[a];
        const long long end = offsets[a + 1];
        for (long long p = begin + threadIdx.x; p < end; p += blockDim.x)
            row[neighbours[p]] = weights[p];
        __syncthreads();

        for (long long p = begin + warp; p < end; p += n_warps) {
            const int b = neighbours[p];
            if (b <= a)
                continue;
            const REAL mi = weights[p];
            const bool through_any = !is_regulator[a] && !is_regulator[b];
            const long long end_b = offsets[b + 1];
            for (long long start = offsets[b]; start < end_b; start += 32) {
                const long long q = start + lane;
                const bool strong = q < end_b && outweighs(weights[q], mi, threshold, additive);
                bool found = false;
                if (strong) {
                    const int c = neighbours[q];
                    found = outweighs(row[c], mi, threshold, additive) &&
                            (through_any || is_regulator[c]);
                }
                if (__any_sync(full_warp, found)) {
                    if (lane == 0)
                        removed[edges[p]] = 1;
                    break;
                }
                if (!__all_sync(full_warp, strong))
                    break;
            }
        }
        __syncthreads();

        for (long long p = begin + threadIdx.x; p < end; p += blockDim.x)
            row[neighbours[p]] = not_adjacent;
        __syncthreads();
    }
}
