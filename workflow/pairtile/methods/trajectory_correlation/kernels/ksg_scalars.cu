// Nearest-neighbour (KSG) statistics of pairs of scalars on the GPU: twin of ksg_scalars.py.
//
// Compile-time: K neighbours, VARIANT (1 | 2), THREADS of a block. Plain CUDA C++: no headers.
//
// A block takes a pair, its threads frames that follow each other in the order of x: the frames that
// they look at lie side by side, too.

__device__ __forceinline__ double difference(double a, double b) { return fabs(__dsub_rn(a, b)); }

// Joint distance of the K-th neighbour of the frame at a place in the order of x.
__device__ double kth_neighbour(const double *x, const double *y, const int *order, int frames,
                                int place, int window)
{
    double best[K];
#pragma unroll
    for (int rank = 0; rank < K; ++rank) best[rank] = __longlong_as_double(0x7ff0000000000000LL);
    const double own_x = x[place], own_y = y[place];
    const int t = order[place];
    for (int step = 1; step >= -1; step -= 2) {
        for (int s = place + step; s >= 0 && s < frames; s += step) {
            const double gap = difference(x[s], own_x);
            if (gap >= best[K - 1]) break;
            const double joint = fmax(gap, difference(y[s], own_y));
            if (joint < best[K - 1] && abs(order[s] - t) > window) {
#pragma unroll
                for (int rank = K - 1; rank > 0; --rank)
                    best[rank] = fmin(best[rank], fmax(best[rank - 1], joint));
                best[0] = fmin(best[0], joint);
            }
        }
    }
    return best[K - 1];
}

// Largest distance in x, and in y, among the neighbours within the joint bound.
__device__ void reach(const double *x, const double *y, const int *order, int frames, int place,
                      int window, double bound, double &reach_x, double &reach_y)
{
    reach_x = reach_y = 0.0;
    for (int step = 1; step >= -1; step -= 2) {
        for (int s = place + step; s >= 0 && s < frames; s += step) {
            const double gap_x = difference(x[s], x[place]);
            if (gap_x > bound) break;
            const double gap_y = difference(y[s], y[place]);
            if (gap_y <= bound && abs(order[s] - order[place]) > window) {
                reach_x = fmax(reach_x, gap_x);
                reach_y = fmax(reach_y, gap_y);
            }
        }
    }
}

__device__ __forceinline__ bool is_near(double distance, double bound)
{
    return VARIANT == 1 ? distance < bound : distance <= bound;
}

// Frames near frame t in one variable, those outside its window. Distances fall towards the frame's
// own value and rise beyond it: a bisection on either side.
__device__ int near(const double *ordered, const double *points, int frames, int t, double bound,
                    int window)
{
    const double own = points[t];
    int first = 0;
    for (int high = frames; first < high;) {
        const int middle = (first + high) / 2;
        if (ordered[middle] >= own || is_near(difference(ordered[middle], own), bound))
            high = middle;
        else
            first = middle + 1;
    }
    int end = first;
    for (int high = frames; end < high;) {
        const int middle = (end + high) / 2;
        if (ordered[middle] < own || is_near(difference(ordered[middle], own), bound))
            end = middle + 1;
        else
            high = middle;
    }
    int found = end - first;
    for (int s = max(0, t - window); s < min(frames, t + window + 1); ++s)
        found -= is_near(difference(points[s], own), bound);
    return found;
}

// out[pair] = sum over all frames of psi[n_x] + psi[n_y].
//
// points, sorted, order  (variables, frames) of the rows and of the columns
// pair_rows, pair_columns  (pairs)
// psi                    (frames + 1): what a count adds
// room                   (blocks, 2, frames)
extern "C" __global__ void psi_sums(const double *points_x, const double *sorted_x,
                                    const int *order_x, const double *points_y,
                                    const double *sorted_y, const int *pair_rows,
                                    const int *pair_columns, int pairs, int frames, int window,
                                    const double *psi, double *room, double *out)
{
    __shared__ double sums[THREADS];
    double *y_by_x = room + (size_t)blockIdx.x * 2 * frames, *terms = y_by_x + frames;
    for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        const size_t row = (size_t)pair_rows[pair] * frames;
        const size_t column = (size_t)pair_columns[pair] * frames;
        const int *order = order_x + row;
        const double *x = sorted_x + row, *y = points_y + column;
        for (int place = threadIdx.x; place < frames; place += THREADS)
            y_by_x[place] = y[order[place]];
        __syncthreads();
        for (int place = threadIdx.x; place < frames; place += THREADS) {
            const double bound = kth_neighbour(x, y_by_x, order, frames, place, window);
            double reach_x = bound, reach_y = bound;
            if (VARIANT == 2)
                reach(x, y_by_x, order, frames, place, window, bound, reach_x, reach_y);
            const int t = order[place];
            terms[t] = psi[near(x, points_x + row, frames, t, reach_x, window)] +
                       psi[near(sorted_y + column, y, frames, t, reach_y, window)];
        }
        __syncthreads();
        // In the order of the frames, so that a pair and its mirror image give the same number.
        double sum = 0.0;
        for (int t = threadIdx.x; t < frames; t += THREADS) sum += terms[t];
        sums[threadIdx.x] = sum;
        for (int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        if (threadIdx.x == 0) out[pair] = sums[0];
        __syncthreads();
    }
}
