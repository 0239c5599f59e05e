// Correlation of pairs of genes with samples of their own on the GPU: twin of plain_correlation.py.
//
// One warp computes one pair: lane l takes word l, l + 32, ... of the masks of samples. Ranks among
// the pair's samples come from counts of bits before a place in the gene's order, so that nothing
// is sorted. The warps of a block take rows next to each other and walk the same columns, whose
// data they then find in the cache. Moments and masks of kept pairs are made by a second kernel.
//
// Compile-time: INDEX (unsigned short, or unsigned int for more than 65,535 samples), SUM (unsigned
// int where a lane's sums of products of twice the ranks fit, else unsigned long long), SPEARMAN (0
// or 1). Plain CUDA C++: no headers.

#include "warp.cuh"

#define TO_DO 2.0
#define R_BINS 200
#define WARPS 8    // of a block of pair_correlations: rows at a time
#define COLUMNS 8  // of such a block: a column's data is read by all its warps at a time
#define THREADS 256
#define HISTOGRAMS (THREADS / 32)

enum { TOO_FEW, CONSTANT, DEGENERATE, KEPT, BELOW, ABOVE, COUNTS };

typedef unsigned long long u64;
typedef unsigned char u8;

// Of every 32 samples of a gene's order: which are members, how many members come before them.
// Arrays of their own, so that lanes that look up different ones seldom wait for each other.
struct Steps {
    unsigned *members, *before;
};

#define GENES                                                                                      \
    const double *__restrict__ values, const INDEX *__restrict__ order,                            \
        const INDEX *__restrict__ start, const INDEX *__restrict__ end,                            \
        const u8 *__restrict__ tied, const unsigned *__restrict__ usable,                          \
        const unsigned *__restrict__ inside, const u8 *__restrict__ of_pair,                       \
        const double *__restrict__ inverse_scale, int words

__device__ __forceinline__ bool has(const unsigned *member, unsigned s)
{
    return member[s >> 5] >> (s & 31) & 1;
}

__device__ __forceinline__ double warp_total(double value)
{
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(FULL_WARP, value, reach);
    return value;
}

__device__ __forceinline__ u64 warp_total(u64 value)
{
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(FULL_WARP, value, reach);
    return value;
}

__device__ __forceinline__ double in_range(double r, double nearly)
{
    return r >= nearly ? 1.0 : r <= -nearly ? -1.0 : r;
}

// Tukey's limits: 1.5 interquartile ranges beyond the quartiles, these without averaging.
__device__ void limits(const double *values, const INDEX *order, const unsigned *member, int count,
                       int words, double &low, double &high)
{
    const int lane = threadIdx.x & 31;
    const unsigned lanes_before = (1u << lane) - 1;
    const int first = count / 4, third = (int)(3ll * count / 4);
    double quartile_1 = 0.0, quartile_3 = 0.0;
    int before = 0;
    for (int word = 0; word < words; ++word) {
        const unsigned s = order[32 * word + lane];
        const bool is_member = has(member, s);
        const unsigned members = __ballot_sync(FULL_WARP, is_member);
        const int after = before + __popc(members), place = before + __popc(members & lanes_before);
        if (before <= first && first < after) {
            const unsigned at = __ballot_sync(FULL_WARP, is_member && place == first);
            quartile_1 = __shfl_sync(FULL_WARP, is_member ? values[s] : 0.0, __ffs(at) - 1);
        }
        if (before <= third && third < after) {
            const unsigned at = __ballot_sync(FULL_WARP, is_member && place == third);
            quartile_3 = __shfl_sync(FULL_WARP, is_member ? values[s] : 0.0, __ffs(at) - 1);
            break;
        }
        before = after;
    }
    // No fused operations: the limits must be those of the CPU.
    const double reach = __dmul_rn(1.5, __dadd_rn(quartile_3, -quartile_1));
    low = __dadd_rn(quartile_1, -reach);
    high = __dadd_rn(quartile_3, reach);
}

// Marks the samples of a pair in a warp's words ``member``, outliers left out; returns their number.
__device__ int members(GENES, size_t x, size_t y, int least, unsigned *member)
{
    const int lane = threadIdx.x & 31;
    const bool own = of_pair[x] || of_pair[y];
    const unsigned *of = own ? usable : inside;
    int count = 0;
    __syncwarp();
    for (int word = lane; word < words; word += 32) {
        const unsigned both = of[x * words + word] & of[y * words + word];
        member[word] = both;
        count += __popc(both);
    }
    count = warp_sum(count);
    __syncwarp();
    if (!own || count < least) return count;
    const size_t padded = 32 * (size_t)words;
    const double *a = values + x * padded, *b = values + y * padded;
    double low_a, high_a, low_b, high_b;
    limits(a, order + x * padded, member, count, words, low_a, high_a);
    limits(b, order + y * padded, member, count, words, low_b, high_b);
    count = 0;
    for (int word = 0; word < words; ++word) {
        const double p = a[32 * word + lane], q = b[32 * word + lane];
        const bool kept = p >= low_a && p <= high_a && q >= low_b && q <= high_b;
        const unsigned left = __ballot_sync(FULL_WARP, kept) & member[word];
        __syncwarp();
        if (lane == 0) member[word] = left;
        count += __popc(left);
    }
    __syncwarp();
    return count;
}

// Members among the first samples of both genes' orders, counted at every 32nd.
__device__ void count_in_order(const INDEX *order_x, const INDEX *order_y, const unsigned *member,
                               int words, Steps x, Steps y)
{
    const int lane = threadIdx.x & 31;
    unsigned before_x = 0, before_y = 0;
#pragma unroll 4
    for (int word = 0; word < words; ++word) {
        const unsigned of_x = __ballot_sync(FULL_WARP, has(member, order_x[32 * word + lane]));
        const unsigned of_y = __ballot_sync(FULL_WARP, has(member, order_y[32 * word + lane]));
        if (lane == 0) {
            x.members[word] = of_x, x.before[word] = before_x;
            y.members[word] = of_y, y.before[word] = before_y;
        }
        before_x += __popc(of_x);
        before_y += __popc(of_y);
    }
    if (lane == 0) {
        x.members[words] = y.members[words] = 0;
        x.before[words] = y.before[words] = before_x;
    }
}

__device__ __forceinline__ unsigned members_before(const Steps &of, unsigned place)
{
    const unsigned word = place >> 5;
    return of.before[word] + __popc(of.members[word] & ((1u << (place & 31)) - 1));
}

// Spearman's r; NaN where a gene is constant. Sums are of whole numbers, so exact.
__device__ double spearman(const INDEX *order, const INDEX *start, const INDEX *end, const u8 *tied,
                           size_t x, size_t y, const unsigned *member, int count, int words,
                           unsigned *shared)
{
    const int lane = threadIdx.x & 31;
    const size_t of_x = 32 * x * words, of_y = 32 * y * words;
    const int length = words + 1;
    const Steps steps_x = {shared, shared + length};
    const Steps steps_y = {shared + 2 * length, shared + 3 * length};
    __syncwarp();
    count_in_order(order + of_x, order + of_y, member, words, steps_x, steps_y);
    __syncwarp();
    const bool tied_x = tied[x], tied_y = tied[y];
    SUM xx = 0, yy = 0, xy = 0;
#pragma unroll 4
    for (int word = 0; word < words; ++word) {
        const int s = 32 * word + lane;
        const unsigned before_x = members_before(steps_x, start[of_x + s]);
        const unsigned before_y = members_before(steps_y, start[of_y + s]);
        unsigned rank_x = tied_x ? before_x + members_before(steps_x, end[of_x + s]) + 1
                                 : 2 * before_x + 2;
        const unsigned rank_y = tied_y ? before_y + members_before(steps_y, end[of_y + s]) + 1
                                       : 2 * before_y + 2;
        const bool is_member = member[word] >> lane & 1;
        rank_x = is_member ? rank_x : 0;
        xy += (SUM)rank_x * rank_y;
        if (tied_x) xx += (SUM)rank_x * rank_x;
        if (tied_y) yy += is_member ? (SUM)rank_y * rank_y : 0;
    }
    const long long n = count, of_means = n * (n + 1) * (n + 1), untied = n * (n * n - 1) / 3;
    const long long together = (long long)warp_total((u64)xy) - of_means;
    const long long spread_x = tied_x ? (long long)warp_total((u64)xx) - of_means : untied;
    const long long spread_y = tied_y ? (long long)warp_total((u64)yy) - of_means : untied;
    if (spread_x == 0 || spread_y == 0) return nan("");
    return (double)together / sqrt((double)spread_x * (double)spread_y);
}

struct Moments {
    double first_x, first_y, mean_x, mean_y, spread_x, spread_y, together;
    bool constant;
};

// Means, then sums of squares and products about them, all of differences to the first member,
// scaled: digits that members share cost nothing.
__device__ Moments moments_of(const double *values, const double *inverse_scale, size_t x, size_t y,
                              const unsigned *member, int count, int words)
{
    const int lane = threadIdx.x & 31;
    const double *a = values + 32 * x * words, *b = values + 32 * y * words;
    const double scale_x = inverse_scale[x], scale_y = inverse_scale[y];
    int begin = 0;
    while (member[begin] == 0) ++begin;  // there is a member: pairs without are not computed
    const int first = 32 * begin + __ffs(member[begin]) - 1;
    Moments m = {a[first], b[first], 0.0, 0.0, 0.0, 0.0, 0.0, false};
    bool moves_x = false, moves_y = false;
    for (int word = begin; word < words; ++word) {
        if (!(member[word] >> lane & 1)) continue;
        const double p = a[32 * word + lane], q = b[32 * word + lane];
        moves_x |= p != m.first_x;
        moves_y |= q != m.first_y;
        m.mean_x += (p - m.first_x) * scale_x;
        m.mean_y += (q - m.first_y) * scale_y;
    }
    m.mean_x = warp_total(m.mean_x) / count;
    m.mean_y = warp_total(m.mean_y) / count;
    for (int word = begin; word < words; ++word) {
        if (!(member[word] >> lane & 1)) continue;
        const double p = (a[32 * word + lane] - m.first_x) * scale_x - m.mean_x;
        const double q = (b[32 * word + lane] - m.first_y) * scale_y - m.mean_y;
        m.spread_x += p * p;
        m.spread_y += q * q;
        m.together += p * q;
    }
    m.spread_x = warp_total(m.spread_x);
    m.spread_y = warp_total(m.spread_y);
    m.together = warp_total(m.together);
    m.constant = !__any_sync(FULL_WARP, moves_x) || !__any_sync(FULL_WARP, moves_y);
    return m;
}

// Shared memory of a warp: the members' words, then (SPEARMAN only) steps of both genes.
__device__ __forceinline__ unsigned *of_warp(int words)
{
    extern __shared__ unsigned shared[];
    return shared + (size_t)(threadIdx.x / 32) * (words + (SPEARMAN ? 4 * (words + 1) : 0));
}

// r, n: (n_rows, n_columns); computes what is TO_DO in r. Blocks of (WARPS rows x COLUMNS).
extern "C" __global__ void pair_correlations(GENES, const int *rows, const int *columns, int n_rows,
                                             int n_columns, int diagonal, int least, double nearly,
                                             double *r, int *n)
{
    unsigned *member = of_warp(words);
    const int warps = blockDim.x / 32;
    const int row = blockIdx.y * warps + threadIdx.x / 32;
    if (row >= n_rows) return;
    const int from = blockIdx.x * COLUMNS, to = min(n_columns, from + COLUMNS);
    for (int column = max(from, row + diagonal + 1); column < to; ++column) {
        const size_t cell = (size_t)row * n_columns + column;
        if (r[cell] != TO_DO) continue;
        const size_t x = rows[row], y = columns[column];
        const int count = members(values, order, start, end, tied, usable, inside, of_pair,
                                  inverse_scale, words, x, y, least, member);
        double found = nan("");
        if (count >= least) {
#if SPEARMAN
            found = spearman(order, start, end, tied, x, y, member, count, words,
                             member + words);
#else
            const Moments m = moments_of(values, inverse_scale, x, y, member, count, words);
            if (!m.constant) found = in_range(m.together / sqrt(m.spread_x * m.spread_y), nearly);
#endif
        }
        __syncwarp();
        if ((threadIdx.x & 31) == 0) {
            r[cell] = found;
            n[cell] = count;
        }
    }
}

// One warp for each kept pair: members and outliers as bits, moments (5, entries).
extern "C" __global__ void describe_entries(GENES, const int *rows, const int *columns,
                                            const int *row_of, const int *column_of, int entries,
                                            int least, int bytes, float *moments, u8 *member_bytes,
                                            u8 *outlier_bytes)
{
    unsigned *member = of_warp(words);
    const int lane = threadIdx.x & 31;
    const size_t entry = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (entry >= entries) return;
    const size_t x = rows[row_of[entry]], y = columns[column_of[entry]];
    const int count = members(values, order, start, end, tied, usable, inside, of_pair,
                              inverse_scale, words, x, y, least, member);
    const Moments m = moments_of(values, inverse_scale, x, y, member, count, words);
    if (lane == 0) {
        const double back_x = 1.0 / inverse_scale[x], back_y = 1.0 / inverse_scale[y];
        const size_t all = entries;
        moments[entry] = (float)(m.first_x + m.mean_x * back_x);
        moments[all + entry] = (float)(m.first_y + m.mean_y * back_y);
        moments[2 * all + entry] = (float)(m.spread_x / count * back_x * back_x);
        moments[3 * all + entry] = (float)(m.spread_y / count * back_y * back_y);
        moments[4 * all + entry] = (float)(m.together / count * back_x * back_y);
    }
    for (int place = lane; place < bytes; place += 32) {
        const int word = place / 4, shift = 24 - 8 * (place % 4);
        const unsigned in = member[word];
        const unsigned out = usable[x * words + word] & usable[y * words + word] & ~in;
        // Bit s of a word is sample s; of a byte that is written, sample 0 is the highest bit.
        member_bytes[entry * bytes + place] = __brev(in) >> shift & 255;
        outlier_bytes[entry * bytes + place] = __brev(out) >> shift & 255;
    }
}

#include "plain_correlation_blocks.cuh"
