// miRanda's score pass on the GPU: the best candidate of each diagonal of each pair. The twin of
// score_pass.py.
//
// One thread runs through a window of the text of all references with two miRNAs, whose scores
// share the halves of its registers, and keeps the column of all rows there: a cell costs a few
// instructions and no memory. This screen says only on which blocks of 16 diagonals any cell
// reaches the threshold; a second kernel computes those few again and reports the candidates.
//
// Compile with -DROWS, the rows kept in registers (rows n - ROWS .. n - 1 of every miRNA; 8 to 63),
// and -DTRACKED, how many of the last of them can reach the threshold at all (1 to ROWS), for the
// two kernels that do almost all the work; without either, for the rest. Plain CUDA C++: no headers.
//
// The recurrence, its integers and what a candidate is: scoring.py. Three facts carry
// this file. (1) Thresholds are 1 or more and gaps cost 0 or more, so a negative a, b or c never
// becomes part of a candidate: all are held at 0 or above. (2) Rows 1 and 2 score 0 and so hold 0;
// row n scores 0 and only hands row n - 1 on. Neither takes part in the screen. (3) An alignment
// that reaches the threshold spans no more columns than AlignmentScoring.span_limit says, so a window that
// starts that much earlier has every such score exactly.
//
// All references lie in one text, one byte a letter, 16 * code; between them, and before the first,
// runs of BETWEEN, which pairs with nothing, long enough that no alignment that matters and no
// diagonal reaches across. A miRNA shorter than ROWS + 1 begins with rows that score 0: they stay
// at 0 as rows 1 and 2 do.

#define SEED_ROWS 7
#define CODES 6
#define BETWEEN 5
#define BLOCK_COLUMNS 16

typedef long long int64;
typedef unsigned long long uint64;

#include "miranda_candidates.cuh"

#ifdef ROWS

#define OUTSIDE (ROWS - SEED_ROWS)
#define QUADS ((ROWS + 3) / 4)
#define STRIDE ((ROWS + 7) / 8 * 8)

// Blocks of the screen that a multiprocessor should hold: warps enough to hide latencies, without
// pushing rows out of the registers.
#if __CUDA_ARCH__ >= 800
#define RESIDENT (ROWS <= 22 ? 10 : ROWS <= 32 ? 8 : ROWS <= 40 ? 5 : 4)
#else
#define RESIDENT 4
#endif

#include "miranda_two_scores.cuh"

// ---- the screen ----------------------------------------------------------------------------

// One column of two miRNAs. h, b: best score and score of b of each row, from the column before.
// tracked[k]: highest score so far on the diagonal that is in row ROWS - TRACKED + k now.
__device__ __forceinline__ void screen_column(
    const char *scores,
    Two (&h)[ROWS],
    Two (&b)[ROWS],
    Two (&tracked)[TRACKED],
    Two open,
    Two extend,
    Two seed_open,
    Two seed_extend,
    Two &highest)
{
    Two diagonal = 0, c = 0, before = 0;
    uint4 quad;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (r % 4 == 0)
            quad = *(const uint4 *)(scores + r / 4 * CODES * 16);
        const Two score = r % 4 == 0 ? quad.x : r % 4 == 1 ? quad.y : r % 4 == 2 ? quad.z : quad.w;
        const Two a = add_or_zero(diagonal, score);
        Two best;
        if (r < OUTSIDE) {
            best = r == 0 ? larger(a, b[r]) : largest(a, b[r], c);
            b[r] = open_or_extended(a, open, add_or_zero(b[r], extend));
            if (r + 1 < OUTSIDE)
                c = open_or_extended(a, open, add_or_zero(c, extend));
        } else {
            best = larger(a, b[r]);
            b[r] = open_or_extended(a, seed_open, add_or_zero(b[r], seed_extend));
        }
        const int k = r - (ROWS - TRACKED);
        if (k >= 0) {
            // The diagonal's highest score up to the row above, from the column before.
            const Two above = k == 0 ? 0 : k == 1 ? diagonal : before;
            if (k + 1 == TRACKED) {
                highest = k == 0 ? larger(highest, best) : largest(highest, above, best);
            } else if (k > 0) {
                before = tracked[k];
                tracked[k] = larger(above, best);
            }
        }
        diagonal = h[r];
        h[r] = best;
    }
}

// Find the diagonals on which any cell scores `threshold` or more, in blocks of 16.
//
// text           see above; 16 columns to a uint4
// scores         (n_mirnas, CODES, STRIDE): score of each kept row by reference code; n_mirnas even
// n_groups       blocks that share a pair of miRNAs: block k takes pair k / n_groups
// n_windows      windows that the text is cut into, one for each thread of n_groups blocks
// window_blocks  length of a window, in blocks of 16 columns
// first_block    where the lead of the first window begins
// lead_blocks    blocks before a window that its thread runs through first, so that scores of
//                `threshold` or more are exact within the window
// found          (capacity): pairs (miRNA, block of the text) to look at closely
// count          (1): how many there are; more than fit are counted only
//
// A diagonal is named by the column in which it crosses row n - 1. A thread takes one window and two
// miRNAs. Scores must not exceed 2047.
extern "C" __global__ void __launch_bounds__(64, RESIDENT) screen_diagonals(
    const uint4 *text,
    const short *scores,
    int n_groups,
    int n_windows,
    int window_blocks,
    int64 first_block,
    int lead_blocks,
    int open,
    int extend,
    int seed_open,
    int seed_extend,
    int threshold,
    uint2 *found,
    uint64 capacity,
    uint64 *count)
{
    // Letters of one quad of rows lie side by side: a warp's reads meet no bank conflict.
    __shared__ uint4 profile[QUADS * CODES];
    const unsigned int pair = blockIdx.x / n_groups;
    const short *first = scores + (int64)pair * 2 * CODES * STRIDE;
    const short *second = first + CODES * STRIDE;
    for (int k = threadIdx.x; k < QUADS * CODES * 4; k += blockDim.x) {
        const int row = k / (CODES * 4) * 4 + k % 4;
        const int code = k / 4 % CODES;
        ((Two *)profile)[k] = addend(first[code * STRIDE + row], second[code * STRIDE + row]);
    }
    __syncthreads();
    const int64 window = (int64)(blockIdx.x % n_groups) * blockDim.x + threadIdx.x;
    if (window >= n_windows)
        return;

    const Two open_two = in_register(open_addend(open));
    const Two extend_two = in_register(addend(extend, extend));
    const Two seed_open_two = in_register(open_addend(seed_open));
    const Two seed_extend_two = in_register(addend(seed_extend, seed_extend));
    const Two to_sign = (0x8000u - threshold) * 0x10001u;
    Two h[ROWS], b[ROWS], tracked[TRACKED];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        h[r] = b[r] = 0;
#pragma unroll
    for (int k = 0; k < TRACKED; ++k)
        tracked[k] = 0;

    const int64 begin = first_block + window * window_blocks;
    const uint4 *here = text + begin;
    const int n_blocks = lead_blocks + window_blocks;
    uint4 letters = here[0];
    for (int block = 0; block < n_blocks; ++block) {
        const uint4 next = here[block + 1];
        Two highest = 0;
#pragma unroll 1
        for (int word = 0; word < 4; ++word) {
            const unsigned int four = letters.x;
            letters.x = letters.y;
            letters.y = letters.z;
            letters.z = letters.w;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                screen_column((const char *)profile + (four >> 8 * k & 0xff), h, b, tracked,
                              open_two, extend_two, seed_open_two, seed_extend_two, highest);
        }
        letters = next;
        const Two over = (highest + to_sign) & 0x80008000u;
        if (over && block >= lead_blocks) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                if (over >> (15 + 16 * k) & 1) {
                    const uint64 place = next_place(count);
                    if (place < capacity)
                        found[place] = make_uint2(2 * pair + k, (unsigned int)(begin + block));
                }
            }
        }
    }
}

// ---- candidates of the diagonals found -----------------------------------------------------

// The best candidate of each of the 16 diagonals of each block that the screen found.
//
// found, n_found  from screen_diagonals
// text            one byte a column
// scores          as for the screen
// lead            columns before a block to run through first
// lengths         (n_mirnas): n
// numbers         (n_mirnas): i of each
//
// A thread takes one block of one miRNA. Where the only candidate of a diagonal is an unpaired
// base in row n, no cell of it shows in the screen: but the cell above does, on the next diagonal,
// and the block that holds that one reports it.
extern "C" __global__ void __launch_bounds__(128) best_of_diagonals(
    const uint2 *found,
    uint64 n_found,
    const unsigned char *text,
    const short *scores,
    int lead,
    int open,
    int extend,
    int seed_open,
    int seed_extend,
    int threshold,
    const int *lengths,
    const int *numbers,
    const int64 *starts,
    int n_references,
    int *fields,
    uint64 capacity,
    uint64 *count)
{
    const uint64 thread = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n_found)
        return;
    const uint2 task = found[thread];
    const short *profile = scores + (int64)task.x * CODES * STRIDE;
    const int n = lengths[task.x];
    const int64 block = (int64)task.y * BLOCK_COLUMNS;

    int h[ROWS], b[ROWS];
    // Best candidate so far on the diagonal that is in row ROWS - TRACKED + k: score and, for ties,
    // the smallest row; 1 where only cells of state b reach the threshold; else 0.
    int best_of[TRACKED];
    int last_b = 0;  // b of row n
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        h[r] = b[r] = 0;
#pragma unroll
    for (int k = 0; k < TRACKED; ++k)
        best_of[k] = 0;

    const unsigned char *letters = text + block - lead;
    unsigned int code = letters[0] >> 4;
    for (int column = -lead; column <= BLOCK_COLUMNS; ++column) {
        const short *row_scores = profile + code * STRIDE;
        const bool between = code == BETWEEN;
        code = *++letters >> 4;
        const int row_above_last = h[ROWS - 1];
        const int seen = best_of[TRACKED - 1];
        int diagonal = 0, c = 0, before = 0, a = 0;
        uint4 eight;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (r % 8 == 0)
                eight = *(const uint4 *)(row_scores + r);
            const unsigned int two = r % 8 < 2   ? eight.x
                                     : r % 8 < 4 ? eight.y
                                     : r % 8 < 6 ? eight.z
                                                 : eight.w;
            const int score = r % 2 ? (int)two >> 16 : (int)(short)two;
            a = max(diagonal + score, 0);
            const int unpaired = r < OUTSIDE ? c : 0;
            const int best = max(max(a, b[r]), unpaired);
            const bool state_b = b[r] > a && b[r] >= unpaired;
            b[r] = max(a + (r < OUTSIDE ? open : seed_open),
                       b[r] + (r < OUTSIDE ? extend : seed_extend));
            if (r + 1 < OUTSIDE)
                c = max(a + open, c + extend);
            const int k = r - (ROWS - TRACKED);
            if (k >= 0) {
                const int above = k == 0 ? 0 : before;
                const int candidate = state_b ? 1 : best << 6 | (63 - r);
                before = best_of[k];
                best_of[k] = best >= threshold ? max(above, candidate) : above;
            }
            diagonal = h[r];
            h[r] = best;
        }
        // Row n: the diagonal crossed row n - 1 one column ago.
        const int last_c = max(a + open, 0);
        const int new_a = between ? 0 : row_above_last;
        int result = seen;
        if (max(new_a, last_c) >= threshold && !(last_b > new_a && last_b >= last_c))
            result = max(result, max(new_a, last_c) << 6 | (63 - ROWS));
        last_b = max(new_a + open, last_b + extend);
        const bool ours = seen ? column > 0 : column < BLOCK_COLUMNS;
        if (result > 63 && column >= 0 && ours) {
            const int r = 63 - (result & 63);
            append({fields, capacity, count}, starts, n_references, numbers[task.x], n - ROWS + r,
                   block + column - ROWS + r, result >> 6);
        }
    }
}

#else  // without ROWS

#include "miranda_any_length.cuh"

#endif
