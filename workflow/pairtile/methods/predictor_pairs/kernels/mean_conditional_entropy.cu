// Predictor sets by mean conditional entropy on the GPU; the score is that of
// mean_conditional_entropy.py, operation by operation.
//
// Compile with
//   LEVELS       q, 2 to 4
//   CARDINALITY  predictors in a set, 1 to 4
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

#include "mean_conditional_entropy_settings.cuh"
#include "mean_conditional_entropy_counts.cuh"
#include "mean_conditional_entropy_score.cuh"
#include "mean_conditional_entropy_bound.cuh"

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
