// The text of the references, and candidates of any miRNA (miranda_alignment.cu without ROWS).
//
// For the few miRNAs that the screen cannot take: one thread runs through a window with one miRNA,
// in 32-bit integers, the column of its rows in global memory, so that length and scores have no
// bound. Rows of a thread lie one stride apart: a warp's accesses are neighbours.

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
