// Energies of loops: the twin of those in duplex_energy.py (included by duplex_energy.cu).
//
// The loops with one inner pair, of which an interval has some 430, are shared out to the lanes of
// a warp; the small and busy tables are in shared memory, the rest is read through the cache.

__device__ __forceinline__ int hairpin_loop(
    const Shared &shared, const int *__restrict__ tables, const String &s, int i, int j, int t)
{
    const int size = j - i - 1;
    int energy = tables[HAIRPIN + size];
    if (size == 3)
        return energy + shared.energies[TERMINAL + t];
    if (size == 4) {
        int code = 0;
        bool known = true;
        for (int k = i; k <= j; k++) {
            code = 4 * code + s.tetra[k];
            known = known && s.tetra[k] < 4;
        }
        if (known)
            energy += tables[TETRALOOP + code];
    }
    return energy + shared.energies[MISMATCH_HAIRPIN + (t * 5 + s.base[i + 1]) * 5 + s.base[j - 1]];
}

// Best multiloop that (i, j) closes. The bases next to the pair may dangle on it.
__device__ __forceinline__ int multiloop(const Shared &shared, const String &s, int i, int j)
{
    const int *energies = shared.energies;
    const int d = j - i;
    const int inward = pair_type(shared, s, j, i);
    const int five = energies[DANGLE5 + inward * 5 + s.base[j - 1]];
    const int three = energies[DANGLE3 + inward * 5 + s.base[i + 1]];
    int best = fork(s, d - 2, i + 1);
    best = min(best, fork(s, d - 3, i + 2) + three);
    best = min(best, fork(s, d - 3, i + 1) + five);
    best = min(best, fork(s, d - 4, i + 2) + five + three);
    return best + energies[TERMINAL + inward] + energies[MULTILOOP_CLOSING] +
           energies[MULTILOOP_BRANCH];
}

// Best stack or bulge with `size` unpaired bases, all on one side, inside (i, j) of type t.
__device__ __forceinline__ int stack_or_bulge(
    const Shared &shared, const String &s, int i, int j, int t, int p, int q)
{
    const int inner = s.paired[begin(s.n, q - p) + p];
    if (inner >= impossible)
        return impossible;
    const int *energies = shared.energies;
    const int size = (j - i) - (q - p) - 2;
    const int t2 = pair_type(shared, s, q, p);
    const int ends = size < 2 ? energies[STACK + t * 7 + t2]
                              : energies[TERMINAL + t] + energies[TERMINAL + t2];
    return inner + ends + (size == 0 ? 0 : energies[BULGE + size]);
}

// The four interior loops with tables of their own, one for each of the first four lanes: 1x1,
// 1x2, 2x1 and 2x2 unpaired bases on the 5' and the 3' side.
__device__ __forceinline__ int small_loop(
    const Shared &shared, const int *__restrict__ tables, const String &s, int i, int j, int t, int lane)
{
    const int left = 1 + (lane >> 1);
    const int right = 1 + (lane & 1);
    const int p = i + 1 + left;
    const int q = j - 1 - right;
    if (lane > 3 || q - p < shortest_span)
        return impossible;
    const int inner = s.paired[begin(s.n, q - p) + p];
    if (inner >= impossible)
        return impossible;
    const int t2 = pair_type(shared, s, q, p);
    const int a = s.base[i + 1], b = s.base[p - 1], c = s.base[q + 1], d = s.base[j - 1];
    int place;
    if (lane == 0)
        place = INTERIOR_1X1 + ((t * 7 + t2) * 5 + a) * 5 + d;
    else if (lane == 1)
        place = INTERIOR_2X1 + (((t * 7 + t2) * 5 + a) * 5 + c) * 5 + d;
    else if (lane == 2)
        place = INTERIOR_2X1 + (((t2 * 7 + t) * 5 + c) * 5 + a) * 5 + b;
    else
        place = INTERIOR_2X2 + ((((t * 7 + t2) * 5 + a) * 5 + b) * 5 + c) * 5 + d;
    return inner + tables[place];
}

// Best energy of what the pair (i, j) of type t closes together with one inner pair. The whole
// warp works on it; every lane returns the result.
__device__ __forceinline__ int one_inner_pair(
    const Shared &shared, const int *__restrict__ tables, const String &s, int i, int j, int t, int lane)
{
    const int d = j - i;
    const int most = min(largest_loop, d - 2 - shortest_span);

    int large = impossible;
    const int n_loops = most * (most - 1) / 2 - 4;
    for (int k = lane; k < n_loops; k += 32) {
        const unsigned int loop = shared.large_loops[k];
        const int left = loop & 0xff;
        const int size = (loop >> 8) & 0xff;
        const int inner = s.facing[begin(s.n, d - 2 - size) + i + 1 + left];
        large = min(large, inner + (int)(loop >> 16));
    }
    int best = large +
               shared.energies[MISMATCH_INTERIOR + (t * 5 + s.base[i + 1]) * 5 + s.base[j - 1]];

    if (lane <= most) {
        best = min(best, stack_or_bulge(shared, s, i, j, t, i + 1, j - 1 - lane));
        best = min(best, stack_or_bulge(shared, s, i, j, t, i + 1 + lane, j - 1));
    }
    best = min(best, small_loop(shared, tables, s, i, j, t, lane));
    return warp_smallest(best);
}

// Best helix over i..j inside a multiloop: (i, j) or, with dangling bases, what lies within.
// `energy` is that of the pair (i, j) itself.
__device__ __forceinline__ int one_branch(
    const Shared &shared, const String &s, int i, int j, int t, int energy)
{
    const int *energies = shared.energies;
    const int d = j - i;
    int best = energy + energies[TERMINAL + t];
    for (int choice = 1; choice < 4; choice++) {
        const int five = choice & 1;
        const int three = choice >> 1;
        if (d - five - three < shortest_span)
            continue;
        const int p = i + five;
        const int q = j - three;
        const int inner = s.paired[begin(s.n, q - p) + p];
        if (inner >= impossible)
            continue;
        const int t2 = pair_type(shared, s, p, q);
        int ends = energies[TERMINAL + t2];
        if (five)
            ends += energies[DANGLE5 + t2 * 5 + s.base[i]];
        if (three)
            ends += energies[DANGLE3 + t2 * 5 + s.base[j]];
        best = min(best, inner + ends);
    }
    return best + energies[MULTILOOP_BRANCH];
}
