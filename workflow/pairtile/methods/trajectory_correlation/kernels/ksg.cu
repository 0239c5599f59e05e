// Nearest-neighbour (KSG) statistics of pairs of trajectories on the GPU: twin of ksg.py.
//
//   frame_distances    positions -> distances of some frames to all frames, rounded to float32
//   neighbour_counts   distances of row and column variables -> psi of each pair at those frames
//   add_frames         these -> added to sums over all frames
//
// Compile-time: DIM (coordinates of a variable), MAX_NORM (0 | 1), VARIANT (1 | 2), COLUMNS (pairs of
// one row variable that a warp does together), STRETCH (frames that it goes through). Plain CUDA C++:
// no headers.
//
// For each pair and frame: how many frames lie nearer than the k-th joint neighbour, in either
// variable. Distances are taken in float64 and kept as the bits of their float32: rounding turns no
// order round, and bits of numbers >= 0 sort as the numbers do. A frame in which rounding made equal
// what it should not is done again in float64, so that counts are those of float64. Distances lie as
// (frames, variables, padded frames): a warp reads two rows side by side, one row variable against
// COLUMNS columns at a time. A tile has too few pairs to fill a GPU, so that its frames are shared
// out, too; what they give is then added up frame by frame, as on the CPU.

#define FAR 0x7f800000 // bits of infinity: what is no neighbour, and padding

// Not contracted to fused multiply-add, so that ties are the ties of the CPU.
__device__ __forceinline__ double distance(const double *points, int frames, int s, int t)
{
    double sum = 0.0;
#pragma unroll
    for (int axis = 0; axis < DIM; ++axis) {
        const double *of_axis = points + (size_t)axis * frames;
        const double a = __dsub_rn(of_axis[s], of_axis[t]);
        if (MAX_NORM || DIM == 1)
            sum = fmax(sum, fabs(a));
        else
            sum = __dadd_rn(sum, __dmul_rn(a, a));
    }
    return sum;
}

__device__ __forceinline__ bool excluded(int s, int t, int window)
{
    return s <= t + window && s >= t - window;
}

// points: (variables, DIM, frames); out: (frames here, variables, padded).
extern "C" __global__ void frame_distances(const double *points, int frames, int first_frame,
                                           int window, int padded, float *out)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= padded) return;
    const int variable = blockIdx.y;
    const int variables = gridDim.y;
    const int t = first_frame + blockIdx.z;
    float value = __int_as_float(FAR);
    if (s < frames && !excluded(s, t, window))
        value = (float)distance(points + (size_t)variable * DIM * frames, frames, s, t);
    out[((size_t)blockIdx.z * variables + variable) * padded + s] = value;
}

#include "warp.cuh"

// One pair's counts at one frame: in each lane, or after add_up the same in all of them.
struct Counts {
    int both;     // frames within both bounds
    int n_x, n_y; // frames below the bound of x, of y
    int at_x, at_y; // frames at them
};

// 1 for a negative number. Differences of bits of numbers >= 0 do not overflow, and a sign is added
// in one instruction where a comparison takes three.
__device__ __forceinline__ unsigned sign(int value) { return (unsigned)value >> 31; }

__device__ __forceinline__ void count(Counts &c, int x, int y, int bound_x, int bound_y)
{
    const int not_above_x = x - (bound_x + 1), not_above_y = y - (bound_y + 1);
    c.both += sign(not_above_x & not_above_y);
    c.n_x += sign(x - bound_x);
    c.n_y += sign(y - bound_y);
    c.at_x += sign(not_above_x); // add_up takes off those below
    c.at_y += sign(not_above_y);
}

__device__ __forceinline__ void add_up(Counts &c)
{
    c.both = warp_sum(c.both);
    c.n_x = warp_sum(c.n_x);
    c.n_y = warp_sum(c.n_y);
    c.at_x = warp_sum(c.at_x) - c.n_x;
    c.at_y = warp_sum(c.at_y) - c.n_y;
}

__device__ Counts counts_within(const int *x, const int *y, int padded, int bound_x, int bound_y)
{
    Counts c = {0, 0, 0, 0, 0};
    for (int s = threadIdx.x % 32; s < padded; s += 32) count(c, x[s], y[s], bound_x, bound_y);
    add_up(c);
    return c;
}

// In float64 throughout, by the definition: walk up the joint distances to the k-th.
__device__ __noinline__ void exact_counts(const double *points_x, const double *points_y, int frames,
                                          int t, int window, int k, int &n_x, int &n_y)
{
    const int lane = threadIdx.x % 32;
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);
    double bound = -1.0;
    for (int within = 0; within < k;) {
        double next = infinity;
        for (int s = lane; s < frames; s += 32) {
            if (excluded(s, t, window)) continue;
            const double joint =
                fmax(distance(points_x, frames, s, t), distance(points_y, frames, s, t));
            if (joint > bound) next = fmin(next, joint);
        }
        bound = warp_smallest(next);
        int here = 0;
        for (int s = lane; s < frames; s += 32) {
            if (excluded(s, t, window)) continue;
            here += fmax(distance(points_x, frames, s, t), distance(points_y, frames, s, t)) <= bound;
        }
        within = warp_sum(here);
    }
    double reach_x = bound, reach_y = bound;
    if (VARIANT == 2) {
        reach_x = reach_y = 0.0;
        for (int s = lane; s < frames; s += 32) {
            if (excluded(s, t, window)) continue;
            const double x = distance(points_x, frames, s, t);
            const double y = distance(points_y, frames, s, t);
            if (fmax(x, y) <= bound) {
                reach_x = fmax(reach_x, x);
                reach_y = fmax(reach_y, y);
            }
        }
        reach_x = warp_largest(reach_x);
        reach_y = warp_largest(reach_y);
    }
    n_x = n_y = 0;
    for (int s = lane; s < frames; s += 32) {
        if (excluded(s, t, window)) continue;
        const double x = distance(points_x, frames, s, t);
        const double y = distance(points_y, frames, s, t);
        n_x += VARIANT == 2 ? x <= reach_x : x < bound;
        n_y += VARIANT == 2 ? y <= reach_y : y < bound;
    }
    n_x = warp_sum(n_x);
    n_y = warp_sum(n_y);
}

struct Neighbours {
    int n_x, n_y;
};

// Counts where the first bound and its counts do not settle them: at a bound that holds more than k,
// in variant 2, and where rounding made ties.
__device__ __noinline__ Neighbours careful_counts(const int *x, const int *y, int padded, int bound,
                                                  const double *points_x, const double *points_y,
                                                  int frames, int t, int window, int k)
{
    const int lane = threadIdx.x % 32;
    Counts c = counts_within(x, y, padded, bound, bound);
    bool tied = false;
    while (c.both > k && !tied) {
        // Some lane held three or more of the k nearest: go down to the k-th.
        int n = 0, lower = -1;
        for (int s = lane; s < padded; s += 32) {
            const int joint = max(x[s], y[s]);
            if (joint < bound) {
                ++n;
                lower = max(lower, joint);
            }
        }
        tied = warp_sum(n) < k;
        if (!tied) {
            bound = warp_largest(lower);
            c = counts_within(x, y, padded, bound, bound);
        }
    }
    bool sure = !tied && bound != FAR;
    if (VARIANT == 1) {
        sure = sure && c.at_x + c.at_y == 1;
    } else if (sure) {
        int reach_x = 0, reach_y = 0;
        for (int s = lane; s < padded; s += 32) {
            const int vx = x[s], vy = y[s];
            if (max(vx, vy) <= bound) {
                reach_x = max(reach_x, vx);
                reach_y = max(reach_y, vy);
            }
        }
        c = counts_within(x, y, padded, warp_largest(reach_x), warp_largest(reach_y));
        sure = c.at_x == 1 && c.at_y == 1;
        c.n_x += c.at_x;
        c.n_y += c.at_y;
    }
    if (!sure) exact_counts(points_x, points_y, frames, t, window, k, c.n_x, c.n_y);
    return {c.n_x, c.n_y};
}

// psi[n_x] + psi[n_y] of all pairs of a tile at some frames.
//
// distances_x  (frames here, rows, padded): bits of frame_distances
// distances_y  (frames here, columns, padded)
// points_x     (rows, DIM, frames), points_y (columns, DIM, frames): to decide ties of rounding
// wanted       (rows, columns): other pairs are left out
// psi          (frames + 1): what a count adds
// out          (frames here, rows, columns)
//
// A warp takes one row variable and COLUMNS column variables through STRETCH frames, its lanes side
// by side over the frames that distances lead to. The warps of a block share the columns, and so
// their first-level cache. Nothing is shared but what is read: no barriers.
extern "C" __global__ void __launch_bounds__(256) neighbour_counts(
    const int *__restrict__ distances_x, const int *__restrict__ distances_y,
    const double *__restrict__ points_x, const double *__restrict__ points_y, int rows, int columns,
    int frames, int padded, int first_frame, int frames_here, int window, int k,
    const bool *__restrict__ wanted, const double *__restrict__ psi, double *__restrict__ out)
{
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32;
    const int column0 = blockIdx.x * COLUMNS;
    if (row >= rows) return;
    bool any = false;
    for (int column = column0; column < min(column0 + COLUMNS, columns); ++column)
        any = any || wanted[(size_t)row * columns + column];
    if (!any) return; // a whole warp leaves
    const int begin = blockIdx.z * STRETCH, end = min(begin + STRETCH, frames_here);

    for (int t = begin; t < end; ++t) {
        const int *x = distances_x + ((size_t)t * rows + row) * padded;
        const int *y[COLUMNS];
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
            y[q] = distances_y + ((size_t)t * columns + min(column0 + q, columns - 1)) * padded;

        // The two smallest joint distances in each lane.
        int lowest[COLUMNS], second[COLUMNS];
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) lowest[q] = second[q] = FAR;
#pragma unroll 4
        for (int s = lane; s < padded; s += 32) {
            const int vx = x[s];
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q) {
                const int joint = max(vx, y[q][s]);
                second[q] = min(second[q], max(lowest[q], joint));
                lowest[q] = min(lowest[q], joint);
            }
        }
        // The k-th of them: at least k frames lie within it.
        int bound[COLUMNS];
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            for (int taken = 0;;) {
                bound[q] = warp_smallest(lowest[q]);
                const bool at = lowest[q] <= bound[q];
                taken += __popc(__ballot_sync(FULL_WARP, at));
                if (taken >= k) break;
                if (at) {
                    lowest[q] = second[q];
                    second[q] = FAR;
                }
            }
        }
        Counts c[COLUMNS];
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) c[q] = {0, 0, 0, 0, 0};
        if (VARIANT == 1) {
#pragma unroll 2
            for (int s = lane; s < padded; s += 32) {
                const int vx = x[s];
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q) count(c[q], vx, y[q][s], bound[q], bound[q]);
            }
        }
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            // Without a tie, one distance is at the bound: the k-th neighbour's, in x or in y.
            add_up(c[q]);
            int n_x = c[q].n_x, n_y = c[q].n_y;
            if (VARIANT == 2 || c[q].both != k || c[q].at_x + c[q].at_y != 1 || bound[q] == FAR) {
                const int column = min(column0 + q, columns - 1);
                const Neighbours n = careful_counts(
                    x, y[q], padded, bound[q], points_x + (size_t)row * DIM * frames,
                    points_y + (size_t)column * DIM * frames, frames, first_frame + t, window, k);
                n_x = n.n_x;
                n_y = n.n_y;
            }
            if (lane == 0 && column0 + q < columns)
                out[((size_t)t * rows + row) * columns + column0 + q] = psi[n_x] + psi[n_y];
        }
    }
}

// Add what neighbour_counts gave, frame by frame, to total (rows, columns). A thread for each pair.
extern "C" __global__ void add_frames(const double *__restrict__ of_frames, int rows, int columns,
                                      int frames_here, const bool *__restrict__ wanted,
                                      double *__restrict__ total)
{
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= rows * columns || !wanted[pair]) return;
    double sum = total[pair]; // goes on where the frames before these left it
    for (int t = 0; t < frames_here; ++t) sum += of_frames[(size_t)t * rows * columns + pair];
    total[pair] = sum;
}
