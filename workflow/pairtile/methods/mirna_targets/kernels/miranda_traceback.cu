// From candidates to alignments on the GPU: the twin of traceback.py. Plain CUDA C++: no headers.
//
// Three kernels in this order. far_from_better, a warp for each pair: what a candidate is worth
// depends on the better ones of its pair, one after the other, but the comparisons with those go
// side by side. trace, a thread for each candidate that is left: it computes the few columns before
// the candidate again, the column of scores in shared memory where it fits, 4 bits of directions a
// cell in global memory, and walks back. share_too_little, a warp for each pair again: of spans that
// overlap, the better one stays.

#define SEED_ROWS 7
#define CODES 5
#define NEAR_DIAGONALS 6
#define SHARED_BASES 6
#define NEVER (-1)
#define CELLS_IN_WORD 8  // of 4 bits: the state, and from what its b and its c came

enum { PAIRED, REFERENCE_UNPAIRED, MIRNA_UNPAIRED, STOP, B_EXTENDS = 4, C_EXTENDS = 8 };

typedef long long int64;

// Drop candidates that lie within 6 diagonals of a better one that was kept.
//
// first        (n_pairs + 1): candidates first[p] .. first[p + 1] - 1 are those of pair p, in
//              miRanda's order
// row, column  (candidates)
// diagonals    (candidates): scratch
// kept         (candidates), written: 0 or 1
extern "C" __global__ void far_from_better(
    const int64 *first,
    int64 n_pairs,
    const int *row,
    const int *column,
    int *diagonals,
    unsigned char *kept)
{
    const int lane = threadIdx.x % 32;
    const int64 pair = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (pair >= n_pairs)
        return;
    const int64 begin = first[pair], end = first[pair + 1];
    int64 n_kept = 0;
    for (int64 k = begin; k < end; ++k) {
        const int diagonal = column[k] - row[k];
        bool near = false;
        for (int64 other = lane; other < n_kept; other += 32)
            near = near || abs(diagonals[begin + other] - diagonal) <= NEAR_DIAGONALS;
        near = __any_sync(0xffffffffu, near);
        if (lane == 0) {
            kept[k] = !near;
            if (!near)
                diagonals[begin + n_kept] = diagonal;
        }
        n_kept += !near;
        __syncwarp();
    }
}

// Drop alignments whose reference span shares 6 bases or more with a better one that was kept.
//
// first, column  as above
// begin_column   (candidates): the column before the first aligned one, where kept
// spans          (candidates): scratch
// kept           (candidates), changed
extern "C" __global__ void share_too_little(
    const int64 *first,
    int64 n_pairs,
    const int *column,
    const int *begin_column,
    int64 *spans,
    unsigned char *kept)
{
    const int lane = threadIdx.x % 32;
    const int64 pair = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (pair >= n_pairs)
        return;
    const int64 begin = first[pair], end = first[pair + 1];
    int64 n_kept = 0;
    for (int64 k = begin; k < end; ++k) {
        if (!kept[k])
            continue;
        bool shares = false;
        for (int64 other = lane; other < n_kept; other += 32) {
            const int64 span = spans[begin + other];
            shares = shares || min(column[k], (int)span) - max(begin_column[k], (int)(span >> 32)) >=
                                   SHARED_BASES;
        }
        shares = __any_sync(0xffffffffu, shares);
        if (lane == 0) {
            if (shares)
                kept[k] = 0;
            else
                spans[begin + n_kept] = (int64)begin_column[k] << 32 | column[k];
        }
        n_kept += !shares;
        __syncwarp();
    }
}

// Align candidates again, noting where each cell came from, and walk back.
//
// wanted          (n_wanted): candidates to trace; this launch takes n_tasks of them from begin_task
// i, j            (candidates): miRNA and reference
// row, column     (candidates)
// mirna_codes, mirna_offsets, reference_codes, reference_offsets   sequences by their codes
// spans           (miRNAs): most columns that an alignment can span
// pair            (2, CODES, CODES): score of a miRNA code on a reference code, outside and in the
//                 seed
// words           32-bit words that hold the cells of one column: (longest miRNA + 7) / 8
// tracks          (2 * longest miRNA, threads): scratch; in shared memory where null, then
//                 8 * longest miRNA bytes for each thread of a block
// directions      (words * most columns, threads): scratch
// begin_row, begin_column, state_count   (candidates), written: the cell before the first aligned
//                 one, columns of the alignment
// states          (n_wanted, width), written: the last state first
extern "C" __global__ void trace(
    const int64 *wanted,
    int64 begin_task,
    int64 n_tasks,
    const int *i,
    const int *j,
    const int *row,
    const int *column,
    const unsigned char *mirna_codes,
    const int64 *mirna_offsets,
    const unsigned char *reference_codes,
    const int64 *reference_offsets,
    const int64 *spans,
    const int *pair,
    int open,
    int extend,
    int seed_open,
    int seed_extend,
    int words,
    int *tracks,
    unsigned int *directions,
    int *begin_row,
    int *begin_column,
    int *state_count,
    unsigned char *states,
    int width)
{
    extern __shared__ int shared_tracks[];
    const int64 thread = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n_tasks)
        return;
    const int64 n_threads = (int64)gridDim.x * blockDim.x;
    const int64 task = begin_task + thread;
    const int64 candidate = wanted[task];
    const int mirna = i[candidate];
    const unsigned char *letters = mirna_codes + mirna_offsets[mirna];
    const int n = (int)(mirna_offsets[mirna + 1] - mirna_offsets[mirna]);
    const int rows = row[candidate];
    const int end = column[candidate];
    const int start = (int)max((int64)end - spans[mirna], (int64)0);
    const unsigned char *reference = reference_codes + reference_offsets[j[candidate]];

    // Of each row, from the column before: the best score; b of this column, times 2, plus 1 where
    // it extends a gap. Row r is at place r - 1.
    const int64 step = tracks ? n_threads : blockDim.x;
    int *best_of = tracks ? tracks + thread : shared_tracks + threadIdx.x;
    int *b_of = best_of + rows * step;
    for (int r = 0; r < rows; ++r) {
        best_of[r * step] = 0;
        // a and b of the border are 0.
        const bool seed = r + 1 != n && r + 1 >= n - SEED_ROWS;
        const int opened = seed ? seed_open : open, extended = seed ? seed_extend : extend;
        b_of[r * step] = max(opened, extended) * 2 + (extended > opened);
    }
    unsigned int *direction = directions + thread;
    for (int position = start; position < end; ++position) {
        const int code = reference[position];
        int diagonal = 0, a_above = 0, c_above = 0;
        unsigned int word = 0;
        for (int r = 1; r <= rows; ++r) {
            const bool seed = r != n && r >= n - SEED_ROWS;
            const int gap_open = seed ? seed_open : open;
            const int gap_extend = seed ? seed_extend : extend;
            const bool scored = r > 2 && r < n;
            const int score = scored ? pair[(seed * CODES + letters[n - r]) * CODES + code] : 0;
            const int c_opened = a_above + gap_open, c_extended = c_above + gap_extend;
            const int a = max(diagonal + score, 0);
            const int b_noted = b_of[(r - 1) * step];
            const int b = b_noted >> 1;
            const int c = seed ? NEVER : max(c_opened, c_extended);
            const int best = max(max(a, b), c);
            unsigned int cell = best <= 0   ? STOP
                                : best == a ? PAIRED
                                : best == b ? REFERENCE_UNPAIRED
                                            : MIRNA_UNPAIRED;
            cell |= b_noted & 1 ? B_EXTENDS : 0;
            cell |= c_extended > c_opened ? C_EXTENDS : 0;
            word |= cell << 4 * ((r - 1) % CELLS_IN_WORD);
            if (r % CELLS_IN_WORD == 0 || r == rows) {
                direction[(r - 1) / CELLS_IN_WORD * n_threads] = word;
                word = 0;
            }
            const int b_opened = a + gap_open, b_extended = b + gap_extend;
            b_of[(r - 1) * step] = max(b_opened, b_extended) * 2 + (b_extended > b_opened);
            a_above = a;
            c_above = c;
            diagonal = best_of[(r - 1) * step];
            best_of[(r - 1) * step] = best;
        }
        direction += words * n_threads;
    }

    // Cells (r, start) and (0, position) are the border.
    int r = rows, position = end, count = 0;
    unsigned char *written = states + task * width;
    unsigned int state = PAIRED;
    bool from_cell = true;
    while (r > 0 && position > start) {
        const int64 at = (int64)(position - start - 1) * words + (r - 1) / CELLS_IN_WORD;
        const unsigned int cell = directions[at * n_threads + thread] >>
                                  4 * ((r - 1) % CELLS_IN_WORD);
        if (from_cell)
            state = cell & 3;
        if (state == STOP)
            break;
        written[count++] = (unsigned char)state;
        from_cell = state == PAIRED;
        if (state != MIRNA_UNPAIRED)
            --position;
        if (state != REFERENCE_UNPAIRED)
            --r;
        if (state == REFERENCE_UNPAIRED)
            state = cell & B_EXTENDS ? REFERENCE_UNPAIRED : PAIRED;
        else if (state == MIRNA_UNPAIRED)
            state = cell & C_EXTENDS ? MIRNA_UNPAIRED : PAIRED;
    }
    begin_row[candidate] = r;
    begin_column[candidate] = position;
    state_count[candidate] = count;
}
