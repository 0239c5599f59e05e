// Rows with their samples exchanged and resampled, ranked and scaled: twin of permuted_rows.py and
// philox.py, bit for bit (compiled without fused multiply-add).
//
// One thread a row: each of its steps rests on the one before, and there are thousands of rows. What it
// keeps of each sample lies beside what the others keep of it ([sample][row]), so that a warp, whose
// threads go through the samples in step, reads neighbours.

typedef unsigned long long u64;

// Philox4x64-10 (Salmon et al., SC 2011): four random words of a counter and a key.
__device__ void philox(const u64 *counter, u64 k0, u64 k1, u64 *out)
{
    const u64 m0 = 0xD2E7470EE14C6C93ull, m1 = 0xCA5A826395121157ull;
    u64 x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    for (int round = 0; round < 10; ++round) {
        const u64 high0 = __umul64hi(m0, x0), low0 = m0 * x0;
        const u64 high1 = __umul64hi(m1, x2), low1 = m1 * x2;
        x0 = high1 ^ x1 ^ k0;
        x1 = low1;
        x2 = high0 ^ x3 ^ k1;
        x3 = low0;
        k0 += 0x9E3779B97F4A7C15ull;
        k1 += 0xBB67AE8584CAA73Bull;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

// Fisher and Yates' shuffle of 0 .. n - 1, as NumPy draws it; entry k lies at out[k * stride].
__device__ void permute(u64 k0, u64 k1, u64 *counter, int n, int *out, size_t stride)
{
    for (int k = 0; k < n; ++k) out[k * stride] = k;
    u64 words[4], mask = 1;
    int place = 8; // of the next half word; eight of them come of one counter
    while (mask < (u64)n) mask <<= 1;
    mask -= 1;
    for (int k = n - 1; k > 0; --k) {
        const u64 bound = k;
        if (mask >> 1 >= bound) mask >>= 1;
        u64 other = mask + 1;
        while (other > bound) {
            if (place == 8) {
                for (int digit = 0; digit < 4; ++digit)
                    if (++counter[digit] != 0) break;
                philox(counter, k0, k1, words);
                place = 0;
            }
            const u64 word = words[place >> 1];
            other = (place & 1 ? word >> 32 : word) & 0xFFFFFFFFull & mask;
            ++place;
        }
        const int here = out[k * stride];
        out[k * stride] = out[other * stride];
        out[other * stride] = here;
    }
}

// Which sample's value each sample takes, from a random order of all samples: samples of a group change
// places with each other (step 0), or the group moves along its order, by a multiple of step. by_group:
// samples sorted by group; start: (groups + 1,), where each group begins in it; place: scratch of a number for each group.
__device__ void exchange(const double *row, const int *permuted, int samples, const int *by_group,
                         const int *start, const int *group, const int *step, int groups,
                         bool second_side, int *place, int *picked, size_t stride)
{
    for (int k = 0; k < samples; ++k) picked[k * stride] = k;
    for (int g = 0; g < groups; ++g) place[g * stride] = start[g];
    for (int k = 0; k < samples; ++k) {
        const int sample = permuted[k * stride], g = group[sample];
        if (step[g] || isnan(row[sample])) continue;
        int to = place[g * stride];
        while (isnan(row[by_group[to]])) ++to;
        picked[by_group[to] * stride] = sample;
        place[g * stride] = to + 1;
    }
    for (int g = 0; g < groups; ++g) {
        if (!step[g]) continue;
        const int begin = start[g], size = start[g + 1] - begin;
        const int number = size / step[g];
        const int turns = permuted[begin * stride] % (number / 4 + 1) + (second_side ? number / 2 : 0);
        const int shift = turns * step[g];
        for (int k = 0; k < size; ++k)
            picked[by_group[begin + k] * stride] = by_group[begin + (k + shift) % size];
    }
}

// values: (genes, samples), NaN where missing; out: (rows, chosen_samples). Row r is of gene genes[r],
// its samples exchanged by draw first_draw + r (genes null: of gene first_draw + r, as they are), of
// which those in chosen are taken. order: (genes, samples), the samples of each gene from its smallest
// value to its largest, where the taken values are ranked anew (null: they are not).
// Scratch of (samples, rows): permuted and picked int, ranks double; place (groups, rows) int.
extern "C" __global__ void permuted_rows(const double *values, int samples, const long long *genes,
                                         int rows, long long first_draw, u64 k0, u64 k1, u64 side,
                                         u64 pair_class, const int *by_group, const int *start,
                                         const int *group, const int *step, int groups,
                                         const int *chosen, int chosen_samples, const int *order,
                                         double top, int *permuted, int *picked, int *place,
                                         double *ranks, double *out)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const size_t stride = rows;
    permuted += r, picked += r, place += r, ranks += r;
    const size_t gene = genes ? genes[r] : first_draw + r;
    const double *row = values + gene * samples;
    if (genes) {
        u64 counter[4] = {0, (u64)(first_draw + r), side, pair_class};
        permute(k0, k1, counter, samples, permuted, stride);
        exchange(row, permuted, samples, by_group, start, group, step, groups, side == 1, place,
                 picked, stride);
    } else {
        for (int k = 0; k < samples; ++k) picked[k * stride] = k;
    }
    if (order) {
        // Average ranks by counting how often each sample is taken, along the order of all: no sort.
        int *times = permuted;
        for (int k = 0; k < samples; ++k) times[k * stride] = 0;
        for (int k = 0; k < chosen_samples; ++k) ++times[picked[chosen[k] * stride] * stride];
        const int *sorted = order + gene * samples;
        long long below = 0;
        for (int begin = 0, end; begin < samples; begin = end) {
            const double value = row[sorted[begin]];
            long long equal = 0;
            for (end = begin; end < samples && row[sorted[end]] == value; ++end)
                equal += times[sorted[end] * stride];
            double rank = 0.5 * (double)(below + 1 + (below + equal));
            if (end == begin) { // not equal to itself: this one and all that follow are missing
                rank = nan("");
                end = samples;
            }
            for (int k = begin; k < end; ++k) ranks[sorted[k] * stride] = rank;
            below += equal;
        }
    }
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);
    double low = infinity, high = -infinity;
    double *mine = out + (size_t)r * chosen_samples;
    for (int k = 0; k < chosen_samples; ++k) {
        const int sample = picked[chosen[k] * stride];
        const double value = order ? ranks[sample * stride] : row[sample];
        mine[k] = value;
        if (!isnan(value)) low = fmin(low, value), high = fmax(high, value);
    }
    const double width = high > low ? high - low : 1.0;
    for (int k = 0; k < chosen_samples; ++k) {
        const double z = (mine[k] - low) / width;
        mine[k] = (z > 1.0 ? 1.0 : z) * top;
    }
}
