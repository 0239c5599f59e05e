// From matrix products to correlations, and from blocks of correlations to the kept pairs.
//
// A thread for each pair finishes the products; a block of threads for each row counts what the row
// keeps, with histograms in shared memory, and, once the host has summed the rows' numbers, writes
// the kept pairs in the order of columns. Atomics add up whole numbers alone, in any order.

// Places (start .. end - 1 in its gene's order) of the ties of every usable sample.
extern "C" __global__ void tie_groups(const double *values, const INDEX *order,
                                      const int *usable_counts, int n_genes, int words,
                                      INDEX *start, INDEX *end, u8 *tied)
{
    const int gene = blockIdx.y, place = blockIdx.x * blockDim.x + threadIdx.x;
    const int count = usable_counts[gene];
    const size_t begin = 32 * (size_t)gene * words;
    if (place >= 32 * words) return;
    const unsigned s = order[begin + place];
    if (place >= count) {
        start[begin + s] = end[begin + s] = 0;
        return;
    }
    const double value = values[begin + s];
    int low = 0, high = place;  // the first place that has this value
    while (low < high) {
        const int middle = (low + high) / 2;
        if (values[begin + order[begin + middle]] < value) low = middle + 1;
        else high = middle;
    }
    const int first = low;
    low = place + 1, high = count;  // the first place beyond
    while (low < high) {
        const int middle = (low + high) / 2;
        if (values[begin + order[begin + middle]] > value) high = middle;
        else low = middle + 1;
    }
    start[begin + s] = first;
    end[begin + s] = low;
    if (low - first > 1) tied[gene] = 1;
}

extern "C" __global__ void finish_products(const double *length_x, const double *length_y,
                                           const u8 *whole_x, const u8 *whole_y, int samples,
                                           double nearly, int rows, int columns, double *r, int *n)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns) return;
    const size_t cell = (size_t)row * columns + column;
    const double a = length_x[row], b = length_y[column];
    double found = TO_DO;
    if (whole_x[row] && whole_y[column])
        found = a == 0.0 || b == 0.0 ? nan("") : in_range(r[cell] / sqrt(a * b), nearly);
    r[cell] = found;
    n[cell] = samples;
}

extern "C" __global__ void finish_masked_products(const double *sum_x, const double *sum_y,
                                                  const double *square_x, const double *square_y,
                                                  const double *counts, const u8 *pair_x,
                                                  const u8 *pair_y, int least, double trust,
                                                  double nearly, int rows, int columns, double *r,
                                                  int *n)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns) return;
    const size_t cell = (size_t)row * columns + column;
    const double count = counts[cell], xx = square_x[cell], yy = square_y[cell];
    n[cell] = (int)count;
    double found = TO_DO;
    if (!(pair_x[row] || pair_y[column])) {
        if (count < least || xx == 0.0 || yy == 0.0)
            found = nan("");
        else {
            const double mean_x = sum_x[cell] / count, mean_y = sum_y[cell] / count;
            const double spread_x = xx - sum_x[cell] * mean_x;
            const double spread_y = yy - sum_y[cell] * mean_y;
            if (spread_x > trust * xx && spread_y > trust * yy)
                found = in_range((r[cell] - sum_x[cell] * mean_y) / sqrt(spread_x * spread_y),
                                 nearly);
        }
    }
    r[cell] = found;
}

// One block of THREADS for each row; counts and histogram are of all rows together.
extern "C" __global__ void count_rows(const double *r, const int *n, int columns, int diagonal,
                                      int least, double lowest, double highest, long long *kept,
                                      u64 *counts, u64 *histogram)
{
    __shared__ unsigned bins[HISTOGRAMS][R_BINS];
    __shared__ unsigned totals[COUNTS];
    const int row = blockIdx.x, warp = threadIdx.x / 32;
    for (int k = threadIdx.x; k < HISTOGRAMS * R_BINS; k += THREADS) bins[0][k] = 0;
    if (threadIdx.x < COUNTS) totals[threadIdx.x] = 0;
    __syncthreads();
    int found[COUNTS] = {};
    const size_t begin = (size_t)row * columns;
    for (int column = max(0, row + diagonal + 1) + threadIdx.x; column < columns;
         column += THREADS) {
        const double value = r[begin + column], strength = fabs(value);
        if (n[begin + column] < least) ++found[TOO_FEW];
        else if (isnan(value)) ++found[CONSTANT];
        else {
            atomicAdd(&bins[warp][min((int)((value + 1.0) * (R_BINS / 2)), R_BINS - 1)], 1u);
            found[DEGENERATE] += strength == 1.0;
            found[BELOW] += strength < lowest;
            found[ABOVE] += strength > highest;
            found[KEPT] += strength >= lowest && strength <= highest;
        }
    }
#pragma unroll
    for (int kind = 0; kind < COUNTS; ++kind) {
        const int total = warp_sum(found[kind]);
        if ((threadIdx.x & 31) == 0 && total) atomicAdd(&totals[kind], (unsigned)total);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < R_BINS; bin += THREADS) {
        u64 total = 0;
        for (int k = 0; k < HISTOGRAMS; ++k) total += bins[k][bin];
        if (total) atomicAdd(&histogram[bin], total);
    }
    if (threadIdx.x < COUNTS && totals[threadIdx.x])
        atomicAdd(&counts[threadIdx.x], (u64)totals[threadIdx.x]);
    if (threadIdx.x == 0) kept[row] = totals[KEPT];
}

// One block of THREADS for each row: kept pairs from place first[row] on, by column.
extern "C" __global__ void write_rows(const double *r, const int *n, int columns, int diagonal,
                                      int least, double lowest, double highest,
                                      const long long *first, int *row_of, int *column_of,
                                      float *r_of, int *n_of)
{
    __shared__ int of_warp[THREADS / 32];
    const int row = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const size_t begin = (size_t)row * columns;
    long long place = first[row];
    for (int at = max(0, row + diagonal + 1); at < columns; at += THREADS) {
        const int column = at + threadIdx.x;
        double value = 0.0;
        bool kept = false;
        if (column < columns) {
            value = r[begin + column];
            const double strength = fabs(value);  // NaN is in no range
            kept = n[begin + column] >= least && strength >= lowest && strength <= highest;
        }
        const unsigned marked = __ballot_sync(FULL_WARP, kept);
        if (lane == 0) of_warp[warp] = __popc(marked);
        __syncthreads();
        int before = __popc(marked & ((1u << lane) - 1)), all = 0;
        for (int k = 0; k < THREADS / 32; ++k) {
            if (k < warp) before += of_warp[k];
            all += of_warp[k];
        }
        if (kept) {
            row_of[place + before] = row;
            column_of[place + before] = column;
            r_of[place + before] = (float)value;
            n_of[place + before] = n[begin + column];
        }
        place += all;
        __syncthreads();
    }
}
