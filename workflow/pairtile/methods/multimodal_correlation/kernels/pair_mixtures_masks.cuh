// Sets of samples of one pair as bit masks in shared memory (bit s % 32 of word s / 32), by a warp.
//
// 32 samples at a time, one a lane; who is in a set is counted by ballots. Outliers are found without
// sorting: the quartiles are the places in the gene's order up to which a quarter, and three, of the
// set's samples are counted.

struct Gene {
    const double *values;                  // scaled; 0 where not usable
    const unsigned short *order;           // usable samples by ascending value
    const unsigned short *run_first, *run_last;  // places in ``order`` of the ties of each place
    const int *codes;                      // dense ranks of the values
    int n_usable;
    bool tied;
};

struct Fences {
    double low, high;

    __device__ __forceinline__ bool outside(double value) const
    {
#if KINC
        return (float)value < (float)low || (float)value > (float)high;
#else
        return value < low || value > high;
#endif
    }
};

// Tukey's fences of the ``members`` samples of ``mask``: 1.5 times the distance of the quartiles
// beyond them, which are values of samples.
__device__ __noinline__ Fences fences(
    const Gene &gene, int mask, int members, int lane)
{
    const int first = members / 4, third = 3 * members / 4;
    int seen = 0, at_first = 0, at_third = 0;
#pragma unroll 1
    for (int begin = 0; begin < gene.n_usable && seen <= third; begin += 32) {
        const int i = begin + lane;
        const int sample = i < gene.n_usable ? gene.order[i] : 0;
        const bool in = i < gene.n_usable && holds(mask, sample);
        const unsigned found = __ballot_sync(FULL_WARP, in);
        const int place = seen + __popc(found & lanes_below(lane));
        const int next = seen + __popc(found);
        if (seen <= first && first < next) {
            const unsigned at = __ballot_sync(FULL_WARP, in && place == first);
            at_first = __shfl_sync(FULL_WARP, sample, __ffs(at) - 1);
        }
        if (seen <= third && third < next) {
            const unsigned at = __ballot_sync(FULL_WARP, in && place == third);
            at_third = __shfl_sync(FULL_WARP, sample, __ffs(at) - 1);
        }
        seen = next;
    }
#if KINC
    const float q1 = (float)gene.values[at_first], q3 = (float)gene.values[at_third];
    const float reach = 1.5f * (q3 - q1);
    return {(double)(q1 - reach), (double)(q3 + reach)};
#else
    const double q1 = gene.values[at_first], q3 = gene.values[at_third];
    const double reach = 1.5 * (q3 - q1);
    return {q1 - reach, q3 + reach};
#endif
}

// Move samples beyond the fences of either gene from ``mask`` to ``outliers``; returns how many
// are left.
__device__ __noinline__ int remove_outliers(
    const Gene &x, const Gene &y, int mask, int outliers, int members, int words, int lane)
{
    if (members == 0) return 0;
    const Fences of_x = fences(x, mask, members, lane), of_y = fences(y, mask, members, lane);
#pragma unroll 1
    for (int w = 0; w < words; w++) {
        const unsigned word = mask_at(mask)[w];
        const int sample = 32 * w + lane;
        const bool out = word >> lane & 1u &&
                         (of_x.outside(x.values[sample]) || of_y.outside(y.values[sample]));
        const unsigned found = __ballot_sync(FULL_WARP, out);
        if (found) {
            __syncwarp();
            if (lane == 0) {
                mask_at(mask)[w] = word & ~found;
                mask_at(outliers)[w] |= found;
            }
            members -= __popc(found);
        }
    }
    __syncwarp();
    return members;
}

// Whether a gene has one value in all samples of the mask.
__device__ __noinline__ bool is_constant(
    const Gene &gene, int mask, int words, int lane)
{
    int code = -1;
#pragma unroll 1
    for (int w = 0; w < words; w++) {
        const unsigned word = mask_at(mask)[w];
        if (!word) continue;
        const int own = word >> lane & 1u ? gene.codes[32 * w + lane] : -1;
        if (code < 0) code = __shfl_sync(FULL_WARP, own, __ffs(word) - 1);
        if (__any_sync(FULL_WARP, own >= 0 && own != code)) return false;
    }
    return true;
}
