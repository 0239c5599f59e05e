// Correlation of the members of one mode, by a warp.
//
// Pearson's: two passes over the elements, means first. Spearman's: the gene's order is walked 32
// places at a time; the members up to a place, counted by ballots, are its rank, and ties share the
// mean of theirs. Twice the ranks are whole numbers, so that their sums are exact in any order.

struct Moments {
    double mean_x, mean_y, xx, yy, xy;  // sums of products of distances from the means
};

__device__ __forceinline__ double clamped(double r) { return fmin(fmax(r, -1.0), 1.0); }

// Moments of the ``members`` samples of a mask among the n elements, in the order of the elements.
__device__ __noinline__ Moments moments(
    const Gene &x, const Gene &y, Storage s, int mask, int n, int members)
{
    double sum_x = 0.0, sum_y = 0.0;
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        const int sample = s.sample()[i];
        if (holds(mask, sample)) {
            sum_x += x.values[sample];
            sum_y += y.values[sample];
        }
    }
    Moments m;
    m.mean_x = butterfly_sum(sum_x) / (double)members;
    m.mean_y = butterfly_sum(sum_y) / (double)members;
    m.xx = m.yy = m.xy = 0.0;
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        const int sample = s.sample()[i];
        if (holds(mask, sample)) {
            const double dx = x.values[sample] - m.mean_x, dy = y.values[sample] - m.mean_y;
            m.xx += dx * dx;
            m.yy += dy * dy;
            m.xy += dx * dy;
        }
    }
    m.xx = butterfly_sum(m.xx);
    m.yy = butterfly_sum(m.yy);
    m.xy = butterfly_sum(m.xy);
    return m;
}

// Call ``with(sample, rank)`` for each member: twice its average rank, less members + 1.
template <typename WITH>
__device__ __forceinline__ void for_each_rank(
    const Gene &gene, Storage s, int members, WITH with)
{
    int seen = 0;
#pragma unroll 1
    for (int begin = 0; begin < gene.n_usable; begin += 32) {
        const int i = begin + s.lane;
        const int sample = i < gene.n_usable ? gene.order[i] : 0;
        const bool in = i < gene.n_usable && holds(s.members(), sample);
        const unsigned found = __ballot_sync(FULL_WARP, in);
        if (gene.tied) {
            if (s.lane == 0) {
                mask_at(s.walk())[begin >> 5] = found;
                s.walk_before()[begin >> 5] = seen;
            }
        } else if (in) {
            const int place = seen + __popc(found & lanes_below(s.lane)) + 1;
            with(sample, 2 * place - (members + 1));
        }
        seen += __popc(found);
    }
    if (!gene.tied) return;
    __syncwarp();
#pragma unroll 1
    for (int i = s.lane; i < gene.n_usable; i += 32) {
        if (!holds(s.walk(), i)) continue;
        const int first = gene.run_first[i], last = gene.run_last[i];
        const int before = s.walk_before()[first >> 5] +
                           __popc(mask_at(s.walk())[first >> 5] & lanes_below(first & 31));
        const int upto = s.walk_before()[last >> 5] +
                         __popc(mask_at(s.walk())[last >> 5] & (2u << (last & 31)) - 1u);
        with(gene.order[i], before + 1 + upto - (members + 1));
    }
    __syncwarp();
}

// Spearman's correlation, from exact sums; false where a gene's ranks are all the same.
__device__ __noinline__ bool spearman(
    const Gene &x, const Gene &y, Storage s, int members, double &r)
{
    long long xx = 0, yy = 0, xy = 0;
    for_each_rank(x, s, members, [&](int sample, int rank) {
        s.rank()[sample] = (short)rank;
        xx += (long long)rank * rank;
    });
    __syncwarp();
    for_each_rank(y, s, members, [&](int sample, int rank) {
        yy += (long long)rank * rank;
        xy += (long long)rank * s.rank()[sample];
    });
    __syncwarp();
    xx = butterfly_sum(xx);
    yy = butterfly_sum(yy);
    xy = butterfly_sum(xy);
    if (xx == 0 || yy == 0) return false;
    r = clamped((double)xy / sqrt((double)xx * (double)yy));
    return true;
}

// Pearson's as KINC sums it up: float32, one member after another. Five lanes have a sum each: of x,
// y, x x, y y, x y.
__device__ __forceinline__ double pearson_kinc(
    const Gene &x, const Gene &y, Storage s, int n, int members)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const int sample = s.sample()[i];
        if (!holds(s.members(), sample)) continue;
        const float a = (float)x.values[sample], b = (float)y.values[sample];
        const float first = s.lane == 1 || s.lane == 3 ? b : a;
        const float second = s.lane < 2 ? 1.0f : s.lane == 2 ? a : b;
        sum = sum + first * second;
    }
    const float of_x = __shfl_sync(FULL_WARP, sum, 0), of_y = __shfl_sync(FULL_WARP, sum, 1);
    const float xx = __shfl_sync(FULL_WARP, sum, 2), yy = __shfl_sync(FULL_WARP, sum, 3);
    const float xy = __shfl_sync(FULL_WARP, sum, 4), size = (float)members;
    const float scale = sqrtf((size * xx - of_x * of_x) * (size * yy - of_y * of_y));
    return (double)((size * xy - of_x * of_y) / scale);
}

// Pearson's; false where a gene is constant among the members.
__device__ __forceinline__ bool pearson(
    const Gene &x, const Gene &y, Storage s, int n, int members, double &r)
{
    if (is_constant(x, s.members(), s.words, s.lane) || is_constant(y, s.members(), s.words, s.lane))
        return false;
#if KINC
    r = pearson_kinc(x, y, s, n, members);
#else
    const Moments m = moments(x, y, s, s.members(), n, members);
    r = m.xy / sqrt(m.xx * m.yy);
#endif
    if (!isfinite(r)) return false;
    r = clamped(r);
    return true;
}
