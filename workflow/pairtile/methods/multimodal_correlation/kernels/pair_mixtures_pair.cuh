// The genes of a pair, and the samples that enter.
//
// A sample enters where both genes are present (the AND of their words) and neither is an outlier.
// Where both genes have the same samples, each gene's own outliers, found once on the host, are
// those of the pair. The elements, one after another, go to shared memory for the fit.

enum Count {
    TOO_FEW_SAMPLES, CONSTANT, DEGENERATE, FAILED, MODES_SMALL, MODES_UNDEFINED, FITS, FITS_FAILED,
    FITS_UNFINISHED, EM_STEPS
};

__device__ __forceinline__ void tally(unsigned long long *counts, int what, int number, int lane)
{
    if (lane == 0 && number) atomicAdd(counts + what, (unsigned long long)number);
}

__device__ __forceinline__ Gene gene_of(const Genes &genes, int number)
{
    const long long at = (long long)number * genes.n_samples;
    return {genes.values + at, genes.order + at, genes.run_first + at, genes.run_last + at,
            genes.codes + at, genes.n_usable[number], genes.tied[number] != 0};
}

struct Pair {
    int row, column;   // places among those asked for
    int of_x, of_y;    // genes
    bool swapped;      // x is the gene of the column
};

// A pair by its number: a place in the rows, found by where their pairs begin, and in the columns.
__device__ __forceinline__ Pair find_pair(
    const Genes &genes, const Places &places, long long number)
{
    Pair p;
    p.row = 0;
    for (int end = places.n_rows; end - p.row > 1;) {
        const int middle = (p.row + end) / 2;
        if (places.row_start[middle] <= number) p.row = middle;
        else end = middle;
    }
    p.column = (int)(number - places.row_start[p.row]) + (places.upper ? p.row + 1 : 0);
    const int of_row = places.rows[p.row], of_column = places.columns[p.column];
#if KINC
    p.swapped = of_column > of_row;
#else
    p.swapped = genes.keys[of_column] < genes.keys[of_row];
#endif
    p.of_x = p.swapped ? of_column : of_row;
    p.of_y = p.swapped ? of_row : of_column;
    return p;
}

// The samples that enter, to s.usable(), and outliers to s.outliers(); returns how many, or -1 where
// they are too few.
__device__ __forceinline__ int take_samples(
    const Genes &genes, const Pair &p, const Gene &x, const Gene &y, Storage s,
    bool without_outliers, int min_samples)
{
    const long long at_x = (long long)p.of_x * s.words, at_y = (long long)p.of_y * s.words;
    int n = 0;
#pragma unroll 1
    for (int w = s.lane; w < s.words; w += 32) {
        const unsigned both = genes.present[at_x + w] & genes.present[at_y + w];
        mask_at(s.usable())[w] = both;
        mask_at(s.outliers())[w] = 0;
        n += __popc(both);
    }
    n = butterfly_sum(n);
    __syncwarp();
    const bool same_samples = n == x.n_usable && n == y.n_usable;
    if (n < min_samples || n == 0) return -1;
    if (!without_outliers) return n;
    if (same_samples) {  // each gene's own outliers
        int removed = 0;
#pragma unroll 1
        for (int w = s.lane; w < s.words; w += 32) {
            const unsigned out = genes.outlying[at_x + w] | genes.outlying[at_y + w];
            mask_at(s.usable())[w] &= ~out;
            mask_at(s.outliers())[w] = out;
            removed += __popc(out);
        }
        n -= butterfly_sum(removed);
        __syncwarp();
    } else {
        n = remove_outliers(x, y, s.usable(), s.outliers(), n, s.words, s.lane);
    }
    return n < min_samples || n == 0 ? -1 : n;
}

// The samples that enter, one after another, to s.sample().
__device__ __noinline__ void list_samples(Storage s)
{
    int before = 0;
#pragma unroll 1
    for (int w = 0; w < s.words; w++) {
        const unsigned word = mask_at(s.usable())[w];
        if (s.lane == 0) s.elements_before()[w] = before;
        if (word >> s.lane & 1u)
            s.sample()[before + __popc(word & lanes_below(s.lane))] = 32 * w + s.lane;
        before += __popc(word);
    }
    __syncwarp();
}

// Members of a component, to s.members(); returns how many.
__device__ __forceinline__ int take_members(Storage s, int k)
{
    int members = 0;
#pragma unroll 1
    for (int w = 0; w < s.words; w++) {
        const unsigned word = mask_at(s.usable())[w];
        const int element = s.elements_before()[w] + __popc(word & lanes_below(s.lane));
        const bool in = word >> s.lane & 1u && s.label()[element] == k;
        const unsigned found = __ballot_sync(FULL_WARP, in);
        if (s.lane == 0) mask_at(s.members())[w] = found;
        members += __popc(found);
    }
    __syncwarp();
    return members;
}
