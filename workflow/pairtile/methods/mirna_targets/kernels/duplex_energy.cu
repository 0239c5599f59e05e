// Minimum free energy of strings on the GPU: the twin of duplex_energy.py, same recursions.
//
// Compile with -DNAME=n for every table of duplex_energy.OFFSETS. Plain CUDA C++: no headers.
//
// One warp folds one string, its matrices in shared memory. Matrices over intervals i..j are kept
// by diagonals: the interval from i of span d = j - i lies at begin(n, d) + i, so that neighbouring
// lanes read neighbouring places. Cells are 16 bits wide, which is enough for strings of up to 128
// letters: a letter is worth less than 2 kcal/mol, 200 units of 0.01.

typedef unsigned char Code;
typedef short Cell;

const int impossible = 32000;    // stays beyond every real energy when real energies are added
const int shortest_span = 4;     // a hairpin has three bases at least
const int largest_loop = 30;
const int busy_tables = INTERIOR_1X1;    // those before this one are copied to shared memory

// Tables and codes that the warps of a block share.
struct Shared {
    int energies[busy_tables];
    unsigned int large_loops[431];    // 5' side, size << 8, energy << 16; by size
    Code types[64];                   // type of the pair of two letters a, b: types[8 a + b]
};

// What a warp works on.
struct String {
    int n;
    const Code *pair;     // letters as types counts them
    const Code *base;     // letters as the tables count them
    const Code *tetra;    // letters in tetraloops: A C G U are 0 1 2 3, all else is 4
    Cell *paired;         // best energy of i..j where i and j pair
    Cell *facing;         // the same, with the mismatch that an interior loop around it sees
    Cell *branched;       // inside a multiloop, with one branch at least
    Cell *forked;         // as two such stretches; the last four diagonals only, n cells each
};

__device__ __forceinline__ int begin(int n, int d)
{
    const int k = d - shortest_span;
    return k * (n - shortest_span) - k * (k - 1) / 2;
}

#include "warp.cuh"

__device__ __forceinline__ int pair_type(const Shared &shared, const String &s, int i, int j)
{
    return shared.types[8 * s.pair[i] + s.pair[j]];
}

__device__ __forceinline__ Cell &fork(const String &s, int d, int i)
{
    return s.forked[(d & 3) * s.n + i];
}

#include "duplex_loops.cuh"
// Fill 32 cells of the diagonal of span d, from i0 on, one for each lane.
__device__ __forceinline__ void fill(
    const Shared &shared, const int *__restrict__ tables, const String &s, int d, int i0, int lane)
{
    const int i = i0 + lane;
    const int j = i + d;
    const bool active = j < s.n;
    const int place = begin(s.n, d) + i;
    const int t = active ? pair_type(shared, s, i, j) : 0;

    int energy = impossible;
    if (t != 0) {
        energy = hairpin_loop(shared, tables, s, i, j, t);
        if (d >= 2 * shortest_span + 3)
            energy = min(energy, multiloop(shared, s, i, j));
    }
    if (d >= shortest_span + 2) {
        unsigned int left = __ballot_sync(FULL_WARP, t != 0);
        while (left != 0) {
            const int owner = __ffs(left) - 1;
            left &= left - 1;
            const int p = i0 + owner;
            const int t2 = pair_type(shared, s, p, p + d);
            const int best = one_inner_pair(shared, tables, s, p, p + d, t2, lane);
            if (lane == owner)
                energy = min(energy, best);
        }
    }

    int split = impossible;
    if (active) {
        for (int m = shortest_span; m < d - shortest_span; m++) {
            const int first = s.branched[begin(s.n, m) + i];
            const int second = s.branched[begin(s.n, d - m - 1) + i + m + 1];
            split = min(split, first + second);
        }
    }
    __syncwarp();    // the fork written next takes the place of one that the multiloops have read
    if (!active)
        return;
    int branched = min(split, one_branch(shared, s, i, j, t, energy));
    if (d > shortest_span) {
        const int shorter = begin(s.n, d - 1) + i;
        branched = min(branched, min(s.branched[shorter], s.branched[shorter + 1]));
    }
    int facing = impossible;
    if (t != 0 && i > 0 && j + 1 < s.n) {
        const int inward = pair_type(shared, s, j, i);
        facing = energy +
                 shared.energies[MISMATCH_INTERIOR + (inward * 5 + s.base[j + 1]) * 5 + s.base[i - 1]];
    }
    s.paired[place] = (Cell)energy;
    s.facing[place] = (Cell)facing;
    s.branched[place] = (Cell)min(branched, impossible);
    fork(s, d, i) = (Cell)split;
}

// Best energy of the whole string; best_to[k], scratch, is that of its first k letters.
__device__ __forceinline__ int outside(
    const Shared &shared, const String &s, int *best_to, int lane)
{
    const int *energies = shared.energies;
    for (int k = lane; k <= s.n; k += 32)
        best_to[k] = 0;
    __syncwarp();
    for (int j = shortest_span; j < s.n; j++) {
        int best = best_to[j];
        // The last helix ends at j, or before j and j dangles on it.
        for (int last = j; last >= max(j - 1, shortest_span); last--) {
            for (int i = lane; i <= last - shortest_span; i += 32) {
                int energy = s.paired[begin(s.n, last - i) + i];
                if (energy >= impossible)
                    continue;
                const int t = pair_type(shared, s, i, last);
                energy += energies[TERMINAL + t];
                if (last < j)
                    energy += energies[DANGLE3 + t * 5 + s.base[j]];
                best = min(best, energy + best_to[i]);
                if (i > 0)
                    best = min(
                        best, energy + energies[DANGLE5 + t * 5 + s.base[i - 1]] + best_to[i - 1]);
            }
        }
        best = warp_smallest(best);
        if (lane == 0)
            best_to[j + 1] = best;
        __syncwarp();
    }
    return best_to[s.n];
}

// Minimum free energies of strings of at most `longest` (<= 128) letters.
//
// text         all strings, one behind the other
// offsets      (strings + 1)
// order        (n_strings): the strings to fold
// codes        (3, 256): for each letter its code in types, in the tables, in tetraloops
// types        (7, 7): type of the pair of two letters
// tables       energies as energy.pack lays them out
// energies     (strings): the result, in 0.01 kcal/mol
//
// Dynamic shared memory: sizeof(Shared) rounded up to 16, and warp_bytes for each warp of the
// block. The grid is persistent: any number of blocks will do.
extern "C" __global__ void fold_strings(
    const unsigned char *text,
    const long long *offsets,
    const int *order,
    int n_strings,
    int longest,
    int warp_bytes,
    const Code *codes,
    const Code *types,
    const int *__restrict__ tables,
    int *energies)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Shared &shared = *(Shared *)memory;
    for (int k = threadIdx.x; k < busy_tables; k += blockDim.x)
        shared.energies[k] = tables[k];
    for (int k = threadIdx.x; k < 64; k += blockDim.x)
        shared.types[k] = k % 8 < 7 && k / 8 < 7 ? types[k / 8 * 7 + k % 8] : 0;
    for (int size = 4 + threadIdx.x; size <= largest_loop; size += blockDim.x) {
        int place = size == 4 ? 0 : (size - 1) * (size - 2) / 2 - 4;
        for (int left = 1; left < size; left++) {
            if (size == 4 && left == 2)
                continue;
            const int energy = tables[INTERIOR + size] + tables[ASYMMETRY + abs(size - 2 * left)];
            shared.large_loops[place++] = left | size << 8 | energy << 16;
        }
    }
    __syncthreads();

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    const int cells = longest > shortest_span ? begin(longest, longest) : 0;
    unsigned char *own = memory + (sizeof(Shared) + 15) / 16 * 16 + (size_t)warp * warp_bytes;
    int *best_to = (int *)own;
    String s;
    s.paired = (Cell *)(best_to + longest + 1);
    s.facing = s.paired + cells;
    s.branched = s.facing + cells;
    s.forked = s.branched + cells;
    Code *letters = (Code *)(s.forked + 4 * longest);
    s.pair = letters;
    s.base = letters + longest;
    s.tetra = letters + 2 * longest;

    for (int k = blockIdx.x * warps + warp; k < n_strings; k += gridDim.x * warps) {
        const int string = order[k];
        const long long start = offsets[string];
        s.n = (int)(offsets[string + 1] - start);
        for (int i = lane; i < s.n; i += 32) {
            const int letter = text[start + i];
            letters[i] = codes[letter];
            letters[longest + i] = codes[256 + letter];
            letters[2 * longest + i] = codes[512 + letter];
        }
        __syncwarp();
        for (int d = shortest_span; d < s.n; d++) {
            for (int i0 = 0; i0 < s.n - d; i0 += 32)
                fill(shared, tables, s, d, i0, lane);
            __syncwarp();
        }
        const int best = outside(shared, s, best_to, lane);
        if (lane == 0)
            energies[string] = best;
        __syncwarp();
    }
}
