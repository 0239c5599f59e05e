// The best predictor sets of each target so far: merges what search_sets found into them.
//
// Sets are ordered by (key, code): the MCE in 1e-9 bit, then the predictors. Plain CUDA C++: no
// headers, no compile-time settings.

__device__ __forceinline__ long long key_of(double mce_bits)
{
    return __double2ll_rn(__dmul_rn(mce_bits, 1e9));
}

__device__ __forceinline__ bool is_after(double score, long long code, double other_score,
                                         long long other_code)
{
    const long long key = key_of(score);
    const long long other_key = key_of(other_score);
    return key != other_key ? key > other_key : code > other_code;
}

// Merge the candidates of one search (sets that no earlier search has seen) into the best sets.
//
// columns       int32 (gridDim.x): targets that were searched
// top           sets to keep for each target
// row_length    power of two; the first row_length - top places of a row took candidates
// scores, codes     float64, int64 (n_targets, row_length): the candidates; overwritten
// n_candidates  uint32 (n_targets): how many there were; set to 0
// n_ties        uint64 (n_targets): sets of the search whose key is that of the cut; set to 0
// best_scores, best_codes   float64, int64 (n_targets, top): ascending
// n_best        int32 (n_targets)
// best_keys, best_ties      int64, uint64 (n_targets): how many sets of all searches have this key,
//               which is the last one's where `top` sets are there, else the first cut's
// cut_keys, cut_codes   int64 (n_targets): last (key, code) that the search was to report
// again         uint8 (gridDim.x): 1 where there was no room for all candidates: the cut has been
//               lowered by those that there was room for, nothing else, and the search has to be
//               repeated. A repetition finds fewer, because row_length - top is more than `top`.
//
// A key below the cut is that of candidates only, so those are its ties in the search. Likewise
// all earlier sets with a key below the last best one are in the list of the best.
extern "C" __global__ void merge_candidates(
    const int *columns,
    int top,
    int row_length,
    double *scores,
    long long *codes,
    unsigned *n_candidates,
    unsigned long long *n_ties,
    double *best_scores,
    long long *best_codes,
    int *n_best,
    long long *best_keys,
    unsigned long long *best_ties,
    long long *cut_keys,
    long long *cut_codes,
    unsigned char *again)
{
    __shared__ int ties_before, ties_after;
    const int target = columns[blockIdx.x];
    const int room = row_length - top;
    const bool overflow = n_candidates[target] > (unsigned)room;
    const int found = overflow ? room : (int)n_candidates[target];
    const int before = n_best[target];
    const int total = found + before;
    scores += (long long)target * row_length;
    codes += (long long)target * row_length;
    best_scores += (long long)target * top;
    best_codes += (long long)target * top;
    int size = 1;
    while (size < total)
        size *= 2;

    for (int i = found + threadIdx.x; i < size; i += blockDim.x) {
        const bool is_best = i < total;
        scores[i] = is_best ? best_scores[i - found] : __longlong_as_double(0x7ff0000000000000LL);
        codes[i] = is_best ? best_codes[i - found] : 0x7fffffffffffffffLL;
    }
    if (threadIdx.x == 0)
        ties_before = ties_after = 0;
    __syncthreads();

    // Bitonic sort of the row.
    for (int length = 2; length <= size; length *= 2) {
        for (int step = length / 2; step > 0; step /= 2) {
            for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
                const int low = 2 * i - (i & (step - 1));
                const int high = low + step;
                const double a = scores[low], b = scores[high];
                const long long code_a = codes[low], code_b = codes[high];
                const bool ascending = (low & length) == 0;
                if (is_after(a, code_a, b, code_b) == ascending) {
                    scores[low] = b;
                    scores[high] = a;
                    codes[low] = code_b;
                    codes[high] = code_a;
                }
            }
            __syncthreads();
        }
    }

    const bool full = total >= top;
    const long long last_key = full ? key_of(scores[top - 1]) : 0;
    const long long last_code = full ? codes[top - 1] : 0;
    if (full) {
        int same_before = 0, same_after = 0;
        for (int i = threadIdx.x; i < before; i += blockDim.x)
            same_before += key_of(best_scores[i]) == last_key;
        for (int i = threadIdx.x; i < total; i += blockDim.x)
            same_after += key_of(scores[i]) == last_key;
        if (same_before)
            atomicAdd(&ties_before, same_before);
        if (same_after)
            atomicAdd(&ties_after, same_after);
    }
    __syncthreads();
    if (!overflow)
        for (int i = threadIdx.x; i < min(top, total); i += blockDim.x) {
            best_scores[i] = scores[i];
            best_codes[i] = codes[i];
        }
    if (threadIdx.x == 0) {
        if (!overflow) {
            n_best[target] = min(top, total);
            if (full) {
                const unsigned long long earlier =
                    last_key == best_keys[target] ? best_ties[target] : ties_before;
                const unsigned long long now =
                    last_key == cut_keys[target] ? n_ties[target] : ties_after - ties_before;
                best_keys[target] = last_key;
                best_ties[target] = earlier + now;
            } else {
                best_ties[target] += n_ties[target];
            }
        }
        if (full) {
            cut_keys[target] = last_key;
            cut_codes[target] = last_code;
        }
        n_candidates[target] = 0;
        n_ties[target] = 0;
        again[blockIdx.x] = overflow;
    }
}
