// miRanda's score pass on the GPU: the best candidate of each diagonal of each pair.
//
// Compile with -DROWS, the rows kept in registers (rows n - ROWS .. n - 1 of every miRNA; 8 to 63),
// and -DTRACKED, how many of the last of them can reach the threshold at all (1 to ROWS), for the
// two kernels that do almost all the work; without either, for the rest. Plain CUDA C++: no headers.
//
// The recurrence, its integers and what a candidate is: miranda_alignment.py. Three facts carry
// this file. (1) Thresholds are 1 or more and gaps cost 0 or more, so a negative a, b or c never
// becomes part of a candidate: all are held at 0 or above. (2) Rows 1 and 2 score 0 and so hold 0;
// row n scores 0 and only hands row n - 1 on. Neither takes part in the screen. (3) An alignment
// that reaches the threshold spans no more columns than Scoring.span_limit says, so a window that
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

// ---- appending -----------------------------------------------------------------------------

// The last of `count` ascending beginnings that is not after `place`.
__device__ __forceinline__ int section_of(int64 place, const int64 *begins, int count)
{
    int low = 0, high = count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (begins[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Next free place of a list that all threads append to; one atomic for all that come together.
__device__ __forceinline__ uint64 next_place(uint64 *count)
{
    const unsigned int here = __activemask();
    const int lane = threadIdx.x % 32;
    const int leader = __ffs(here) - 1;
    uint64 first = 0;
    if (lane == leader)
        first = atomicAdd(count, (uint64)__popc(here));
    return __shfl_sync(here, first, leader) + __popc(here & ((1u << lane) - 1));
}

// Where candidates go: int (5, capacity), i, j, row, column, score; more than fit are counted only.
struct Candidates {
    int *fields;
    uint64 capacity;
    uint64 *count;
};

// Append the candidate in `row` of miRNA i, in a column of the text; starts (n_references): where
// each reference lies in the text.
__device__ void append(
    Candidates candidates,
    const int64 *starts,
    int n_references,
    int i,
    int row,
    int64 position,
    int score)
{
    const uint64 place = next_place(candidates.count);
    if (place >= candidates.capacity)
        return;
    const int j = section_of(position, starts, n_references);
    int *field = candidates.fields + place;
    field[0] = i;
    field[candidates.capacity] = j;
    field[2 * candidates.capacity] = row;
    field[3 * candidates.capacity] = (int)(position - starts[j] + 1);
    field[4 * candidates.capacity] = score;
}

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

// ---- two scores in one register ------------------------------------------------------------
//
// Scores are 0 .. 2047, one for each of two miRNAs in the halves of a register. As bit patterns of
// half-precision numbers, the integers 0 .. 2047 are equally spaced numbers (subnormal up to 1023),
// so that half-precision addition is exact integer addition. That moves three operations of a cell
// from the integer units, which all comparisons need, to the floating-point units, which idle.

typedef unsigned int Two;

#if __CUDA_ARCH__ >= 800
#define HALF_ADDITION 1
#else
#define HALF_ADDITION 0
#endif

// A number to add: sign and magnitude for half-precision addition, else two's complement.
__device__ __forceinline__ Two addend(int low, int high)
{
#if HALF_ADDITION
    const unsigned int l = low < 0 ? 0x8000u | (unsigned int)-low : (unsigned int)low;
    const unsigned int h = high < 0 ? 0x8000u | (unsigned int)-high : (unsigned int)high;
    return l | h << 16;
#else
    return ((unsigned int)low & 0xffffu) | (unsigned int)high << 16;
#endif
}

// max(x + y, 0)
__device__ __forceinline__ Two add_or_zero(Two x, Two y)
{
#if HALF_ADDITION
    Two sum;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(0x3c003c00u), "r"(y));
    return sum;
#else
    return __vmaxs2(__vadd2(x, y), 0);
#endif
}

__device__ __forceinline__ Two larger(Two x, Two y)
{
#if HALF_ADDITION && __CUDA_ARCH__ < 900
    Two most;
    asm("max.f16x2 %0, %1, %2;" : "=r"(most) : "r"(x), "r"(y));
    return most;
#else
    return __vmaxs2(x, y);
#endif
}

__device__ __forceinline__ Two largest(Two x, Two y, Two z)
{
#if __CUDA_ARCH__ >= 900
    return __vimax3_s16x2(x, y, z);
#else
    return larger(larger(x, y), z);
#endif
}

// What a gap of any kind costs: one number in both halves.
__device__ __forceinline__ Two open_addend(int open)
{
#if __CUDA_ARCH__ >= 900
    return ((unsigned int)open & 0xffffu) | (unsigned int)open << 16;
#else
    return addend(open, open);
#endif
}

// max(a + open, extended), where extended >= 0
__device__ __forceinline__ Two open_or_extended(Two a, Two open, Two extended)
{
#if __CUDA_ARCH__ >= 900
    return __viaddmax_s16x2(a, open, extended);
#elif HALF_ADDITION
    Two opened;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(opened) : "r"(a), "r"(open));
    return larger(opened, extended);
#else
    return __vmaxs2(__vadd2(a, open), extended);
#endif
}

// The same number; the compiler does not make it anew in each column.
__device__ __forceinline__ Two in_register(Two x)
{
    asm volatile("" : "+r"(x));
    return x;
}

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
// A diagonal is told by the column in which it crosses row n - 1. A thread takes one window and two
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

// ---- the text ------------------------------------------------------------------------------

// Copy the letters of all references to their places; the rest of the text holds BETWEEN already.
//
// codes    (total): codes 0 .. 4, one reference after the other
// offsets  (n_references + 1): where each lies in codes
// starts   (n_references): where each lies in text
extern "C" __global__ void lay_out_references(
    const unsigned char *codes,
    const int64 *offsets,
    const int64 *starts,
    int n_references,
    unsigned char *text)
{
    const int64 total = offsets[n_references];
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x; k < total; k += step) {
        const int j = section_of(k, offsets, n_references);
        text[starts[j] + k - offsets[j]] = codes[k] << 4;
    }
}

// ---- any miRNA, any scores -----------------------------------------------------------------

// The best candidate of each diagonal, in 32-bit integers and for any length, window by window.
//
// text            one byte a column
// codes, offsets  all miRNAs 5'->3': miRNA i is codes[offsets[i]:offsets[i + 1]]
// mirnas          (n_mirnas): i of those wanted
// pair            (2, 5, CODES): score of a miRNA code on a text code, outside and in the seed
// begins, ends    (n_windows): columns of the text that each window runs through
// first           (n_windows): first column in which diagonals cross row n that the window reports;
//                 the last one is its last column
// whole           1: windows are whole references, and diagonals that end beyond them count too
// begin_task      tasks are number of the miRNA * n_windows + window; this launch takes n_tasks
//                 from here on
// state           (4 * longest miRNA, gridDim.x * blockDim.x): scratch
extern "C" __global__ void best_of_diagonals_any_length(
    const unsigned char *text,
    const unsigned char *codes,
    const int64 *offsets,
    const int64 *mirnas,
    const int *pair,
    const int64 *begins,
    const int64 *ends,
    const int64 *first,
    int n_windows,
    int whole,
    int64 begin_task,
    int64 n_tasks,
    int open,
    int extend,
    int seed_open,
    int seed_extend,
    int threshold,
    int *state,
    const int64 *starts,
    int n_references,
    int *fields,
    uint64 capacity,
    uint64 *count)
{
    const int64 thread = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n_tasks)
        return;
    const int64 task = begin_task + thread;
    const int i = (int)mirnas[task / n_windows];
    const int window = (int)(task % n_windows);
    const unsigned char *letters = codes + offsets[i];
    const int n = (int)(offsets[i + 1] - offsets[i]);
    const int64 n_threads = (int64)gridDim.x * blockDim.x;
    // Of each row: best score, score of b, and the best candidate (score, row) of its diagonal.
    int *h = state + thread;
    int *b = h + n * n_threads;
    int *best_score = b + n * n_threads;
    int *best_row = best_score + n * n_threads;
    for (int64 row = 0; row < 4 * n; ++row)
        h[row * n_threads] = 0;

    for (int64 position = begins[window]; position < ends[window]; ++position) {
        const int code = text[position] >> 4;
        int diagonal = 0, a = 0, c = 0, score_before = 0, row_before = 0;
        for (int row = 1; row <= n; ++row) {
            const int64 k = (row - 1) * n_threads;
            const bool seed = row >= n - SEED_ROWS && row < n;
            const bool scored = row > 2 && row < n;
            const int score = code == BETWEEN ? -(1 << 30)
                              : scored ? pair[(seed * 5 + letters[n - row]) * CODES + code]
                                       : 0;
            // c of this row, from a and c of the row above.
            c = seed ? 0 : max(max(a + open, c + extend), 0);
            a = max(diagonal + score, 0);
            const int in_b = b[k];
            const int best = max(max(a, in_b), c);
            b[k] = max(max(a + (seed ? seed_open : open), in_b + (seed ? seed_extend : extend)), 0);
            int high = score_before, high_row = row_before;
            if (best >= threshold && !(in_b > a && in_b >= c) && best > high) {
                high = best;
                high_row = row;
            }
            score_before = best_score[k];
            row_before = best_row[k];
            best_score[k] = high;
            best_row[k] = high_row;
            diagonal = h[k];
            h[k] = best;
        }
        const int high_row = best_row[(n - 1) * n_threads];
        if (high_row > 0 && position >= first[window])
            append({fields, capacity, count}, starts, n_references, i, high_row,
                   position - n + high_row, best_score[(n - 1) * n_threads]);
    }
    for (int row = 1; whole && row < n; ++row) {
        const int high_row = best_row[(row - 1) * n_threads];
        if (high_row > 0)
            append({fields, capacity, count}, starts, n_references, i, high_row,
                   ends[window] - 1 - row + high_row, best_score[(row - 1) * n_threads]);
    }
}

#endif
