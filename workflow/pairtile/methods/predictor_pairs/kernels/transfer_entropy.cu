// Transfer entropy of every source with every target: the CUDA half of transfer_entropy.py, whose
// docstring has the definition and the order of operations.
//
// One thread has one source and one target. Neighbouring threads have neighbouring targets, whose
// planes lie word by word beside each other, and one source, whose planes all of them read at once.
// The counts of one lag stay in registers.
//
// LEVELS q; CELLS q^(history + 1), cells of a target.

#define HISTORIES (CELLS / LEVELS)
#define TIE_BITS 1e-12

extern "C" __global__ void transfer_entropy(
    const unsigned int* __restrict__ sources,  // (n_sources, n_lags, LEVELS, words)
    const unsigned int* __restrict__ targets,  // (CELLS, words, n_targets)
    int n_sources, int n_targets, int n_lags, int words,
    const double* __restrict__ log_table,      // n log2(n)
    int min_samples,                           // 1 at least
    double* transfer_bits, double* past_bits, int* freedom, int* n_samples, signed char* place)
{
    const int s = blockIdx.x;  // of a null there can be more than blocks in y
    const int t = blockIdx.y * blockDim.x + threadIdx.x;
    if (t >= n_targets) return;
    double best = 0.0, best_past = 0.0;
    int best_freedom = 0, best_n = 0, best_lag = -1;

    for (int lag = 0; lag < n_lags; ++lag) {
        const unsigned int* source = sources + ((size_t)s * n_lags + lag) * LEVELS * words;
        int counts[CELLS][LEVELS];
#pragma unroll
        for (int cell = 0; cell < CELLS; ++cell)
#pragma unroll
            for (int x = 0; x < LEVELS; ++x) counts[cell][x] = 0;
        for (int w = 0; w < words; ++w) {
            unsigned int of_source[LEVELS];
#pragma unroll
            for (int x = 0; x < LEVELS; ++x) of_source[x] = source[x * words + w];
#pragma unroll
            for (int cell = 0; cell < CELLS; ++cell) {
                const unsigned int plane = targets[((size_t)cell * words + w) * n_targets + t];
#pragma unroll
                for (int x = 0; x < LEVELS; ++x) counts[cell][x] += __popc(plane & of_source[x]);
            }
        }
        double past = 0.0, given = 0.0;
        int free = 0, n = 0;
#pragma unroll
        for (int h = 0; h < HISTORIES; ++h) {
            int of_y[LEVELS], of_x[LEVELS];
#pragma unroll
            for (int k = 0; k < LEVELS; ++k) of_y[k] = of_x[k] = 0;
#pragma unroll
            for (int y = 0; y < LEVELS; ++y)
#pragma unroll
                for (int x = 0; x < LEVELS; ++x) {
                    const int here = counts[h * LEVELS + y][x];
                    of_y[y] += here;
                    of_x[x] += here;
                    given = given - log_table[here];
                }
            int n_history = 0, levels_x = 0, levels_y = 0;
#pragma unroll
            for (int k = 0; k < LEVELS; ++k) {
                n_history += of_y[k];
                levels_y += of_y[k] > 0;
                levels_x += of_x[k] > 0;
                past = past - log_table[of_y[k]];
                given = given + log_table[of_x[k]];
            }
            past = past + log_table[n_history];
            free += max(levels_x - 1, 0) * max(levels_y - 1, 0);
            n += n_history;
        }
        if (n < min_samples) continue;
        const double bits = fmax((past - given) / n, 0.0);
        if (best_lag < 0 || bits > best + TIE_BITS) {
            best = bits;
            best_past = past / n;
            best_freedom = free;
            best_n = n;
            best_lag = lag;
        }
    }
    const size_t here = (size_t)s * n_targets + t;
    transfer_bits[here] = best;
    past_bits[here] = best_past;
    freedom[here] = best_freedom;
    n_samples[here] = best_n;
    place[here] = (signed char)best_lag;
}
