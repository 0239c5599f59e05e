// The exact score of a set, operation by operation that of mean_conditional_entropy.py.

__device__ __forceinline__ double entropy_of_samples(const double *log_table, const int *counts,
                                                     int n)
{
    double h = log_table[n];
#pragma unroll
    for (int y = 0; y < LEVELS; y++)
        h = __dsub_rn(h, log_table[counts[y]]);
    return h;
}

// MCE in bits, or a negative number where the set has too few samples.
__device__ double mean_conditional_entropy(const Search &search, const unsigned *left,
                                           const unsigned *right, const unsigned *target)
{
    double total = 0.0;
    int n_samples = 0;
    int observed = 0;
    int of_target[LEVELS] = {};
#pragma unroll 1
    for (int a = 0; a < LEFT_CELLS; a++) {
#pragma unroll
        for (int b = 0; b < LEVELS; b++) {
            int counts[LEVELS] = {};
            int n = 0;
            for (int w = 0; w < WORDS; w++) {
                const unsigned word = left[a * STRIDE + w] & right[b * STRIDE + w];
#pragma unroll
                for (int y = 0; y < LEVELS; y++)
                    counts[y] += __popc(word & target[y * STRIDE + w]);
            }
#pragma unroll
            for (int y = 0; y < LEVELS; y++) {
                of_target[y] += counts[y];
                n += counts[y];
            }
            if (n == 0)
                continue;
            n_samples += n;
            observed++;
            double h = entropy_of_samples(search.log_table, counts, n);
            if (PENALTY == POOR_OBS && n == 1)
                h = search.poor_bits;
            if (PENALTY == NO_OBS)
                h = __dadd_rn(h, __ddiv_rn(__dmul_rn(search.alpha, h), (double)n));
            total = __dadd_rn(total, h);
        }
    }
    if (n_samples < search.min_samples)
        return -1.0;
    double weight = (double)n_samples;
    if (PENALTY == NO_OBS) {
        const double h = entropy_of_samples(search.log_table, of_target, n_samples);
        const double missing = __dmul_rn(search.alpha, (double)(CELLS - observed));
        total = __dadd_rn(total, __dmul_rn(missing, __ddiv_rn(h, weight)));
        weight = __dadd_rn(weight, __dmul_rn(search.alpha, (double)CELLS));
    }
    const double mce = __ddiv_rn(total, weight);
    return mce > 0.0 ? mce : 0.0;
}

// Score one set of the queue exactly: count it if it ties with its target's cut, and hand it on as
// a candidate if it is not behind the cut in the order (key, predictors).
__device__ __noinline__ void judge(const Search &search, const int *columns, unsigned *n_ties,
                                   unsigned entry)
{
    const int left = search.first_left + (entry >> 20);
    const int right = search.first_right + ((entry >> 10) & 1023);
    const int slot = entry & 1023;
    const int target = columns[slot];
    const long long code = (search.left_codes[left] << CODE_BITS) | right;
    const int excluded = search.exclude[target];
#pragma unroll
    for (int c = 0; c < CARDINALITY; c++)
        if ((int)((code >> (c * CODE_BITS)) & ((1 << CODE_BITS) - 1)) / LAGS == excluded)
            return;
    const long long cut = search.cut_keys[target];
    double mce = 0.0;
    if (!(search.zero_is_exact && cut == 0))
        mce = mean_conditional_entropy(
            search,
            search.left_planes + (long long)left * LEFT_CELLS * STRIDE,
            search.right_planes + (long long)right * LEVELS * STRIDE,
            search.target_planes + (long long)target * LEVELS * STRIDE);
    if (mce < 0.0)
        return;
    const long long key = __double2ll_rn(__dmul_rn(mce, 1e9));
    if (key > cut)
        return;
    if (key == cut) {
        atomicAdd(&n_ties[slot], 1u);
        if (code > search.cut_codes[target])
            return;
    }
    const unsigned place = atomicAdd(&search.n_candidates[target], 1u);
    if (place < search.capacity) {
        const long long row = (long long)target * search.row_length + place;
        search.scores[row] = mce;
        search.codes[row] = code;
    }
}
