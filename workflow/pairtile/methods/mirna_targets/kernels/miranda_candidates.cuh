// Lists that all threads append to (miranda_alignment.cu).
//
// Threads that append at the same time take their places with one atomic addition for all; a list
// that is full goes on counting, so that the caller knows the room it needs and runs again.

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
