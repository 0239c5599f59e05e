// Spearman's correlation of a pair without a mixture, without ties, and with the same samples
// observed in both genes: from each sample's place in the sort order of either gene.
//
// Of the places, only those of outliers of either gene are taken away, so that a sample's rank is
// its place less the outliers before it: a look into a table of bits and counts, 32 places a row.

// The row of the gene's places without its own outliers, which are at both ends, and those of the
// other gene.
__device__ __noinline__ void fill_table(
    int at_table, const unsigned short *place, int begin, int end, const unsigned *others,
    Storage s)
{
    uint2 *const table = (uint2 *)(shared + at_table);
    for (int w = s.lane; w < s.words; w += 32) {
        const int from = max(begin - 32 * w, 0), to = min(end - 32 * w, 32);
        const unsigned upto = to >= 32 ? ~0u : to > 0 ? (1u << to) - 1u : 0u;
        table[w].x = from >= 32 ? 0u : upto & ~((1u << from) - 1u);
    }
    __syncwarp();
    if (others) {
        for (int w = s.lane; w < s.words; w += 32) {
            for (unsigned word = others[w]; word; word &= word - 1u) {
                const int at = place[32 * w + __ffs(word) - 1];
                atomicAnd(&table[at >> 5].x, ~(1u << (at & 31)));
            }
        }
        __syncwarp();
    }
    int before = 0;
    for (int begin_row = 0; begin_row < s.words; begin_row += 32) {
        const int w = begin_row + s.lane;
        const int own = w < s.words ? __popc(table[w].x) : 0;
        int upto = own;
#pragma unroll
        for (int reach = 1; reach < 32; reach *= 2) {
            const int lower = __shfl_up_sync(FULL_WARP, upto, reach);
            if (s.lane >= reach) upto += lower;
        }
        if (w < s.words) table[w].y = before + upto - own;
        before += __shfl_sync(FULL_WARP, upto, 31);
    }
    __syncwarp();
}

// Rank, from 1, of the sample at a place.
__device__ __forceinline__ int rank_at(const uint2 *table, int place)
{
    const uint2 row = table[place >> 5];
    return row.y + __popc(row.x & ((2u << (place & 31)) - 1u));
}

// Places in the sort order, (genes, padded samples), and where the outliers at the low end end and
// those at the high end begin, (genes, 2).
struct Places {
    const unsigned short *place;
    const int *inner;
};

// Spearman's correlation of the ``members`` samples of s.usable, two or more.
__device__ __forceinline__ double spearman_of_places(
    const Places &places, const Pair &p, const unsigned *out_x, const unsigned *out_y,
    Storage s, int members)
{
    const long long padded = 32 * s.words;
    const unsigned short *const at_x = places.place + p.of_x * padded;
    const unsigned short *const at_y = places.place + p.of_y * padded;
    const int at_tables = 16 * s.words, bytes = 8 * s.words;  // where ranks are else
    const uint2 *const table_x = (uint2 *)(shared + at_tables);
    const uint2 *const table_y = (uint2 *)(shared + at_tables + bytes);
    fill_table(at_tables, at_x, places.inner[2 * p.of_x], places.inner[2 * p.of_x + 1], out_y, s);
    fill_table(at_tables + bytes, at_y, places.inner[2 * p.of_y], places.inner[2 * p.of_y + 1], out_x, s);
    long long products = 0;
#pragma unroll 4
    for (int w = 0; w < s.words; w++) {
        const int x = at_x[32 * w + s.lane], y = at_y[32 * w + s.lane];
        const int rank = rank_at(table_x, x);
        const bool in = mask_at(s.usable())[w] >> s.lane & 1u;
        products += (long long)(in ? rank : 0) * rank_at(table_y, y);
    }
    products = butterfly_sum(products);
    // Of doubled ranks less members + 1, as everywhere.
    const long long m = members, xx = m * (m * m - 1) / 3;
    const double xy = (double)(4 * products - m * (m + 1) * (m + 1));
    return clamped(xy / sqrt((double)xx * (double)xx));
}
