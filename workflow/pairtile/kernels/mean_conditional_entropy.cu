// Predictor sets by mean conditional entropy on the GPU; the score is that of
// mean_conditional_entropy.py, operation by operation.
//
// Compile with
//   LEVELS       q, 2 to 4
//   CARDINALITY  predictors in a set, 1 to 3
//   PENALTY      0 none, 1 no_obs, 2 poor_obs
//   WORDS        32-bit words of samples
//   COUNT_ALL    0 where no level is missing, up to 16 cells: cells have one size for all targets,
//                and one level of the target need not be counted. 1 counts them all
//   TIGHT        1 for the closer of two bounds: with three and four levels and many samples
//   SHARED       1 to keep the targets' planes in shared memory, 0 to read them where they are
// Plain CUDA C++: no headers.
//
// A set is a "left" (all its predictors but the last, as one variable of q^(c-1) levels) and a
// "right" predictor. Counting the samples of all its cells at all levels of all targets is a matrix
// product of bits: rows are cells (left AND right), columns are levels of targets. Tensor cores of
// compute capability 8 and 9 do that, elsewhere population counts take their place. A lane of the
// product's 16 x 8 tile holds rows g and g + 8 and columns 2 t and 2 t + 1 (g = lane / 4,
// t = lane % 4): two cells of set g, and two levels of target t or, with one level to count, two
// targets.
//
// The counts give a lower bound of the score in float32. Of any distribution p of up to four levels
// the entropy is at least 4 e2(p) bits, and at least 4 e2(p) + K3 e3(p) + K4 e4(p) (TIGHT), where
// e2, e3 and e4 are the sums of products of 2, 3 and 4 different p; K3 = 27 (log2(3) - 4/3) and
// K4 = 256 (1/2 - K3 / 16) make the second an equality where three or four levels are equally
// frequent. (4 e2 is 4 p (1 - p) for two levels and 2 (1 - sum p^2) for any number.) Sets that the
// bound cannot rule out go into a queue of their warp; 32 at a time are scored exactly.

#define CHUNKS ((WORDS + 3) / 4)
#define STRIDE (4 * CHUNKS)  // words of a plane: whole chunks of 128 samples
#define NO_OBS 1
#define POOR_OBS 2
#define CODE_BITS 21  // of a predictor's number in the code of a set

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 1000
#define BINARY_TENSOR_CORES 1
#else
#define BINARY_TENSOR_CORES 0
#endif

constexpr int LEFT_CELLS = CARDINALITY == 1 ? 1 : CARDINALITY == 2 ? LEVELS : LEVELS * LEVELS;
constexpr int CELLS = LEFT_CELLS * LEVELS;
constexpr int CLASSES = COUNT_ALL ? LEVELS : LEVELS - 1;
constexpr int FIRST_CLASS = LEVELS - CLASSES;
constexpr int ROW_TILES = (CELLS + 1) / 2;
constexpr int COLUMN_TILES = (CLASSES + 1) / 2;
constexpr int LANE_TARGETS = CLASSES == 1 ? 2 : 1;
constexpr int GROUP = 4 * LANE_TARGETS;  // targets of a column tile
// Lefts and groups of targets that are taken together, to have enough independent instructions.
constexpr int LEFTS = LEVELS == 2 && CARDINALITY == 2 && !COUNT_ALL && CHUNKS <= 2 ? 2 : 1;
constexpr int GROUPS = CELLS <= 9 && CHUNKS <= 4 && !COUNT_ALL ? 2 : 1;
static_assert(GROUP * GROUPS <= 16, "tiles come in multiples of 16 targets");
constexpr int SCORES = LEFTS * GROUPS * LANE_TARGETS;  // of a lane at a time
constexpr bool RESIDENT = (LEFT_CELLS + LEVELS) * CHUNKS <= 48;  // planes fit in registers
constexpr bool COLUMNS_RESIDENT = COLUMN_TILES * CHUNKS <= 16;
constexpr int UNROLL = CHUNKS <= 16 ? CHUNKS : 4;
constexpr int WARPS = 4;
constexpr int QUEUE = 64;
constexpr unsigned ALL = 0xffffffffu;
constexpr int MAGIC = 0x4b000000;  // bits of 2^23; plus a count, they are those of 2^23 + count
constexpr float MAGIC_VALUE = 8388608.0f;
constexpr float NO_LIMIT = 1e30f;
constexpr float THIRD = 1.698496f;   // K3 / 4
constexpr float FOURTH = 1.672177f;  // 4 K4 / K3^2

struct Search {
    const unsigned *left_planes, *right_planes, *target_planes;
    const long long *left_codes;
    const int *exclude;
    const double *log_table;
    const long long *cut_keys, *cut_codes;
    double alpha, poor_bits;
    int min_samples, zero_is_exact, first_left, first_right;
    unsigned capacity;
    int row_length;
    double *scores;
    long long *codes;
    unsigned *n_candidates;
};

// counts[] += samples in rows (low, high: word t of rows g and g + 8) and columns (word t of
// column g) of one chunk, of which `words` are in use.
__device__ __forceinline__ void count(int (&counts)[4], unsigned low, unsigned high,
                                      unsigned column, int words)
{
#if BINARY_TENSOR_CORES
    asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
        : "r"(low), "r"(high), "r"(column));
#else
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (w < words) {
            const unsigned row_low = __shfl_sync(ALL, low, (lane & ~3) + w);
            const unsigned row_high = __shfl_sync(ALL, high, (lane & ~3) + w);
            const unsigned even = __shfl_sync(ALL, column, 8 * (lane & 3) + w);
            const unsigned odd = __shfl_sync(ALL, column, 8 * (lane & 3) + 4 + w);
            counts[0] += __popc(row_low & even);
            counts[1] += __popc(row_low & odd);
            counts[2] += __popc(row_high & even);
            counts[3] += __popc(row_high & odd);
        }
    }
#endif
}

// The same for two chunks.
__device__ __forceinline__ void count_two(int (&counts)[4], unsigned low, unsigned high,
                                          unsigned next_low, unsigned next_high, unsigned column,
                                          unsigned next_column, int words)
{
#if BINARY_TENSOR_CORES
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
        : "r"(low), "r"(high), "r"(next_low), "r"(next_high), "r"(column), "r"(next_column));
#else
    count(counts, low, high, column, words);
    count(counts, next_low, next_high, next_column, words - 4);
#endif
}

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
        if ((int)((code >> (c * CODE_BITS)) & ((1 << CODE_BITS) - 1)) == excluded)
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

__device__ __forceinline__ float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What the bound takes from the cells of a set, where they have one size for all targets.
struct Bound {
    float size[CELLS];    // two levels: 4 w, else n
    float weight[CELLS];  // 4 w / n
    float third[CELLS];   // THIRD / n
    float special;        // what cells not observed (no_obs) or observed once (poor_obs) add
};

// Lower bound of S MCE, with no_obs of (S + alpha M) MCE, less its limit: a sum over cells.
struct Sum {
    float total, size, special;

    // limit: the limit of the bound (COUNT_ALL: in bits of MCE), factor of Bound.special
    __device__ __forceinline__ void start(const Bound &bound, float2 limit)
    {
        size = special = 0.0f;
        total = COUNT_ALL ? 0.0f : PENALTY ? fmaf(bound.special, limit.y, -limit.x) : -limit.x;
    }

    // n: samples of one cell at each counted level
    __device__ __forceinline__ void add(const float (&n)[CLASSES], const Bound &bound, int cell,
                                        float special_weight)
    {
        if constexpr (LEVELS == 2 && !COUNT_ALL) {
            total = fmaf(n[0], fmaf(-bound.weight[cell], n[0], bound.size[cell]), total);
        } else {
            float e1, e2, e3, e4;  // n^k e_k(p) of the levels so far
            const auto next = [&](int level, float count) {
                if (level >= 3)
                    e4 = count * e3;
                if (level >= 2)
                    e3 = level == 2 ? count * e2 : fmaf(count, e2, e3);
                if (level >= 1)
                    e2 = level == 1 ? count * e1 : fmaf(count, e1, e2);
                e1 = level == 0 ? count : e1 + count;
            };
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                next(c, n[c]);
            float weight, third;
            if constexpr (COUNT_ALL) {
                const float part = reciprocal(fmaxf(e1, 1.0f));
                const float alpha = PENALTY == NO_OBS ? special_weight : 0.0f;
                weight = fmaf(4.0f * alpha, part, 4.0f) * part;
                third = THIRD * part;
                size += e1;
                if (PENALTY)
                    special += e1 == (PENALTY == NO_OBS ? 0.0f : 1.0f) ? special_weight : 0.0f;
            } else {
                weight = bound.weight[cell];
                third = bound.third[cell];
                next(LEVELS - 1, bound.size[cell] - e1);
            }
            if (TIGHT && LEVELS > 2) {
                if (LEVELS > 3)
                    e3 = fmaf(FOURTH * e4, third, e3);
                e2 = fmaf(e3, third, e2);
            }
            total = fmaf(e2, weight, total);
        }
    }

    __device__ __forceinline__ float excess(float2 limit, float special_weight) const
    {
        if (!COUNT_ALL)
            return total;
        // At least 1, so that padding, which has no samples, does not pass.
        const float samples = fmaxf(size, 1.0f);
        const float penalised =
            PENALTY == NO_OBS ? fmaf((float)CELLS, special_weight, samples) : samples;
        return fmaf(-limit.x, penalised, PENALTY ? fmaf(special, limit.y, total) : total);
    }
};

// Screen every set of a block of lefts and rights for a tile of targets.
//
// left_planes    uint32 (n_lefts, LEFT_CELLS, STRIDE): bit planes; unused bits are 0
// left_codes     int64 (n_lefts): predictors of the left, CODE_BITS each, the first one highest
// left_last      int32 (n_lefts): right predictors must be larger than this
// n_lefts
// right_planes   uint32 (n_predictors, LEVELS, STRIDE)
// right_end      right predictors end before this
// target_planes  uint32 (n_targets, LEVELS, STRIDE)
// target_weights float32 (n_targets): factor of Bound.special
// exclude        int32 (n_targets): predictor that is left out, -1 for none
// columns        int32 (n_columns): targets to do; blockIdx.y takes tile_targets of them
// tile_targets   multiple of 16, up to 1024
// units          int32 (gridDim.x, 4): first left, first right, how many lefts (up to 4096) and
//                rights (up to 1024) of each block's sets
// log_table      float64 (n_samples + 1): n log2(n)
// weight_table   float32 (n_samples + 1): 4 w / n of a cell of size n (COUNT_ALL: not used)
// n_samples, min_samples, alpha, poor_bits
// margin_bits    more than the error of the bound, in bits of MCE
// zero_is_exact  whether to pass the screen with a cut of 0 means to have the key 0
// cut_keys, cut_codes   int64 (n_targets): last (key, code) wanted
// capacity       candidates that there is room for, for each target, up to row_length
// scores, codes  float64, int64 (n_targets, row_length): MCE and code of the candidates
// n_candidates   uint32 (n_targets): how many there were, even without room
// n_ties         uint64 (n_targets): sets whose key is the cut's; added to
//
// blockDim.x is 128. Dynamic shared memory: 16 bytes a target of the tile, 1024 bytes, and
// with SHARED the targets' planes, tile_targets / GROUP * COLUMN_TILES * CHUNKS * 128 bytes.
extern "C" __global__ void __launch_bounds__(32 * WARPS) search_sets(
    const unsigned *left_planes,
    const long long *left_codes,
    const int *left_last,
    int n_lefts,
    const unsigned *right_planes,
    int right_end,
    const unsigned *target_planes,
    const float *target_weights,
    const int *exclude,
    const int *columns,
    int n_columns,
    int tile_targets,
    const int4 *units,
    const double *log_table,
    const float *weight_table,
    int n_samples,
    int min_samples,
    double alpha,
    double poor_bits,
    double margin_bits,
    int zero_is_exact,
    const long long *cut_keys,
    const long long *cut_codes,
    int capacity,
    int row_length,
    double *scores,
    long long *codes,
    unsigned *n_candidates,
    unsigned long long *n_ties)
{
    extern __shared__ float2 memory[];
    __shared__ Search search;
    float2 *limits = memory;  // limit of the bound, weight of its special part
    int *tile_columns = (int *)(limits + tile_targets);
    unsigned *tile_ties = (unsigned *)(tile_columns + tile_targets);
    unsigned *queue = tile_ties + tile_targets + threadIdx.x / 32 * QUEUE;
    unsigned *planes = tile_ties + tile_targets + WARPS * QUEUE;

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int g = lane / 4;
    const int t = lane % 4;
    const int4 unit = units[blockIdx.x];
    const int first_column = blockIdx.y * tile_targets;
    const int n_tile = min(tile_targets, n_columns - first_column);
    const int n_groups = (n_tile + GROUP * GROUPS - 1) / (GROUP * GROUPS) * GROUPS;
    const double total_weight =
        COUNT_ALL ? 1.0 : PENALTY == NO_OBS ? n_samples + alpha * CELLS : n_samples;
    const float special_weight = PENALTY == NO_OBS ? (float)alpha
                                 : PENALTY == POOR_OBS ? (float)poor_bits : 0.0f;

    if (threadIdx.x == 0)
        search = {left_planes, right_planes, target_planes, left_codes, exclude, log_table,
                  cut_keys, cut_codes, alpha, poor_bits, min_samples, zero_is_exact, unit.x, unit.y,
                  (unsigned)capacity, row_length, scores, codes, n_candidates};
    for (int i = threadIdx.x; i < n_groups * GROUP; i += blockDim.x) {
        const int target = i < n_tile ? columns[first_column + i] : -1;
        tile_columns[i] = target;
        tile_ties[i] = 0;
        limits[i] = make_float2(-1.0f, 0.0f);  // padding never passes
        if (target >= 0) {
            const double bits = ((double)cut_keys[target] + 0.5) * 1e-9 + margin_bits;
            limits[i].x = bits > 1e6 ? NO_LIMIT : __double2float_ru(bits * total_weight);
            limits[i].y = target_weights[target];
        }
    }
    // Word t of column g of a group's column tile: which target, which level.
    const auto column_word = [&](int group, int tile, int chunk, int of_lane) -> unsigned {
        const int column = of_lane / 4;
        const int level = CLASSES == 1 ? 0 : column % 2 + 2 * tile;
        const int i = group * GROUP + (CLASSES == 1 ? column : column / 2);
        if (level >= CLASSES || i >= n_tile)
            return 0;
        const long long plane = (long long)columns[first_column + i] * LEVELS + FIRST_CLASS + level;
        return target_planes[plane * STRIDE + 4 * chunk + of_lane % 4];
    };
    if (SHARED)
        for (int i = threadIdx.x; i < n_groups * COLUMN_TILES * CHUNKS * 32; i += blockDim.x)
            planes[i] = column_word(i / (32 * CHUNKS * COLUMN_TILES),
                                    i / (32 * CHUNKS) % COLUMN_TILES, i / 32 % CHUNKS, i % 32);
    __syncthreads();
    const unsigned *lane_planes = planes + lane;
    const float2 *lane_limits = limits + LANE_TARGETS * t;

    int queued = 0;
    const int left_end = min(unit.x + unit.z, n_lefts);
    const int n_rights = min(unit.w, right_end - unit.y);
    for (int right_group = 8 * warp; right_group < n_rights; right_group += 8 * WARPS) {
        const int right = unit.y + right_group + g;
        const bool right_exists = right_group + g < n_rights;
        const unsigned *right_words =
            right_planes + (long long)(right_exists ? right : unit.y) * LEVELS * STRIDE + t;
        unsigned of_right[RESIDENT ? LEVELS : 1][CHUNKS];
        if (RESIDENT) {
#pragma unroll
            for (int b = 0; b < LEVELS; b++)
#pragma unroll
                for (int chunk = 0; chunk < CHUNKS; chunk++)
                    of_right[b][chunk] = right_words[b * STRIDE + 4 * chunk];
        }
        for (int left = unit.x; left < left_end; left += LEFTS) {
            unsigned valid = 0;
#pragma unroll
            for (int r = 0; r < LEFTS; r++)
                if (right_exists && left + r < left_end && right > left_last[left + r])
                    valid |= ((1u << SCORES / LEFTS) - 1) << (r * SCORES / LEFTS);
            if (!__any_sync(ALL, valid))
                continue;

            const unsigned *left_words[LEFTS];
            unsigned of_left[LEFTS][RESIDENT ? LEFT_CELLS : 1][CHUNKS];
#pragma unroll
            for (int r = 0; r < LEFTS; r++) {
                left_words[r] = left_planes +
                    (long long)min(left + r, left_end - 1) * LEFT_CELLS * STRIDE + t;
                if (RESIDENT) {
#pragma unroll
                    for (int a = 0; a < LEFT_CELLS; a++)
#pragma unroll
                        for (int chunk = 0; chunk < CHUNKS; chunk++)
                            of_left[r][a][chunk] = left_words[r][a * STRIDE + 4 * chunk];
                }
            }
            const auto cell_word = [&](int r, int cell, int chunk) -> unsigned {
                if (cell >= CELLS)
                    return 0;
                const int a = cell / LEVELS;
                const int b = cell % LEVELS;
                if constexpr (RESIDENT)
                    return of_left[r][a][chunk] & of_right[b][chunk];
                else
                    return left_words[r][a * STRIDE + 4 * chunk] &
                           right_words[b * STRIDE + 4 * chunk];
            };

            Bound bounds[LEFTS];
            if (!COUNT_ALL) {
#pragma unroll
                for (int r = 0; r < LEFTS; r++) {
                    int special = 0;
#pragma unroll
                    for (int cell = 0; cell < CELLS; cell++) {
                        int n = 0;
#pragma unroll UNROLL
                        for (int chunk = 0; chunk < CHUNKS; chunk++)
                            n += __popc(cell_word(r, cell, chunk));
                        n += __shfl_xor_sync(ALL, n, 1);
                        n += __shfl_xor_sync(ALL, n, 2);
                        const float weight = weight_table[n];
                        bounds[r].weight[cell] = weight;
                        bounds[r].size[cell] = LEVELS == 2 ? weight * (float)n : (float)n;
                        bounds[r].third[cell] = THIRD * reciprocal((float)max(n, 1));
                        special += n == (PENALTY == NO_OBS ? 0 : 1);
                    }
                    bounds[r].special = special_weight * (float)special;
                }
            }

            const unsigned *group_planes = lane_planes;
            const float2 *group_limits = lane_limits;
#pragma unroll 1
            for (int group = 0; group < n_groups; group += GROUPS) {
                float excess[SCORES];  // bound less limit
#pragma unroll
                for (int u = 0; u < GROUPS; u++) {
                    const auto column = [&](int tile, int chunk) -> unsigned {
                        if (SHARED)
                            return group_planes[32 * ((u * COLUMN_TILES + tile) * CHUNKS + chunk)];
                        return column_word(group + u, tile, chunk, lane);
                    };
                    unsigned words[COLUMN_TILES][COLUMNS_RESIDENT ? CHUNKS : 1];
                    if (COLUMNS_RESIDENT) {
#pragma unroll
                        for (int tile = 0; tile < COLUMN_TILES; tile++)
#pragma unroll
                            for (int chunk = 0; chunk < CHUNKS; chunk++)
                                words[tile][chunk] = column(tile, chunk);
                    }
                    const auto word = [&](int tile, int chunk) -> unsigned {
                        return COLUMNS_RESIDENT ? words[tile][chunk] : column(tile, chunk);
                    };
                    float2 limit[LANE_TARGETS];
#pragma unroll
                    for (int j = 0; j < LANE_TARGETS; j++)
                        limit[j] = group_limits[u * GROUP + j];
#pragma unroll
                    for (int r = 0; r < LEFTS; r++) {
                        Sum sum[LANE_TARGETS];
#pragma unroll
                        for (int j = 0; j < LANE_TARGETS; j++)
                            sum[j].start(bounds[r], limit[j]);
#pragma unroll
                        for (int tile = 0; tile < ROW_TILES; tile++) {
                            int counts[COLUMN_TILES][4];
#pragma unroll
                            for (int k = 0; k < COLUMN_TILES; k++)
#pragma unroll
                                for (int i = 0; i < 4; i++)
                                    counts[k][i] = MAGIC;
#pragma unroll UNROLL
                            for (int chunk = 0; chunk + 1 < CHUNKS; chunk += 2)
#pragma unroll
                                for (int k = 0; k < COLUMN_TILES; k++)
                                    count_two(counts[k], cell_word(r, 2 * tile, chunk),
                                              cell_word(r, 2 * tile + 1, chunk),
                                              cell_word(r, 2 * tile, chunk + 1),
                                              cell_word(r, 2 * tile + 1, chunk + 1),
                                              word(k, chunk), word(k, chunk + 1),
                                              WORDS - 4 * chunk);
                            if (CHUNKS % 2)
#pragma unroll
                                for (int k = 0; k < COLUMN_TILES; k++)
                                    count(counts[k], cell_word(r, 2 * tile, CHUNKS - 1),
                                          cell_word(r, 2 * tile + 1, CHUNKS - 1),
                                          word(k, CHUNKS - 1), WORDS - 4 * (CHUNKS - 1));
#pragma unroll
                            for (int half = 0; half < 2; half++) {
                                const int cell = 2 * tile + half;
                                if (cell >= CELLS)
                                    continue;
#pragma unroll
                                for (int j = 0; j < LANE_TARGETS; j++) {
                                    float n[CLASSES];
#pragma unroll
                                    for (int c = 0; c < CLASSES; c++)
                                        n[c] = __int_as_float(
                                                   counts[(j + c) / 2][2 * half + (j + c) % 2]) -
                                               MAGIC_VALUE;
                                    sum[j].add(n, bounds[r], cell, special_weight);
                                }
                            }
                        }
#pragma unroll
                        for (int j = 0; j < LANE_TARGETS; j++)
                            excess[(r * GROUPS + u) * LANE_TARGETS + j] =
                                sum[j].excess(limit[j], special_weight);
                    }
                }
                group_planes += 32 * COLUMN_TILES * CHUNKS * GROUPS;
                group_limits += GROUP * GROUPS;
                float least = excess[0];
#pragma unroll
                for (int i = 1; i < SCORES; i++)
                    least = fminf(least, excess[i]);
                if (!__any_sync(ALL, least <= 0.0f))
                    continue;

                unsigned passed = 0;
#pragma unroll
                for (int i = 0; i < SCORES; i++)
                    passed |= (excess[i] <= 0.0f ? 1u : 0u) << i;
                passed &= valid;
                unsigned lanes;
                while ((lanes = __ballot_sync(ALL, passed)) != 0) {
                    if (passed) {
                        const int i = __ffs(passed) - 1;
                        passed &= passed - 1;
                        const int slot = (group + i / LANE_TARGETS % GROUPS) * GROUP +
                                         LANE_TARGETS * t + i % LANE_TARGETS;
                        queue[queued + __popc(lanes & ((1u << lane) - 1))] =
                            (unsigned)(left + i / (SCORES / LEFTS) - unit.x) << 20 |
                            (unsigned)(right_group + g) << 10 | slot;
                    }
                    queued += __popc(lanes);
                    __syncwarp();
                    if (queued >= 32) {
                        queued -= 32;
                        judge(search, tile_columns, tile_ties, queue[queued + lane]);
                        __syncwarp();
                    }
                }
            }
        }
    }
    if (lane < queued)
        judge(search, tile_columns, tile_ties, queue[lane]);
    __syncthreads();
    for (int i = threadIdx.x; i < n_tile; i += blockDim.x)
        if (tile_ties[i])
            atomicAdd(&n_ties[tile_columns[i]], (unsigned long long)tile_ties[i]);
}
