// Where the arrays of a pair stand in shared memory; ``shared_bytes`` of the host says how much.
// Functions that are not inlined take these offsets, since a pointer would not say that it is one
// into shared memory.

extern __shared__ __align__(16) unsigned char shared[];

#define COMPONENTS 5

// A component's row: what log densities are made from, then its parameters.
struct Row {
    float mean_x, mean_y, inverse_x, slope;
    float inverse_y, constant, weight, variance_x;
    float variance_y, covariance, unused_1, unused_2;
};

// Offsets of components being fitted, of the best short run, of the chosen K, and of sums.
#define NOW 0
#define BEST (COMPONENTS * 48)
#define CHOSEN (2 * COMPONENTS * 48)
#define SUMS (3 * COMPONENTS * 48)
#define FIXED_BYTES (SUMS + 32 * 4)
#define MASKS (FIXED_BYTES + 384 * words)

__device__ __forceinline__ Row &row_at(int offset, int k) { return ((Row *)(shared + offset))[k]; }

__device__ __forceinline__ float *sums_at() { return (float *)(shared + SUMS); }

// Arrays of a pair with room for ``words`` times 32 samples.
struct Storage {
    int words, lane;

    // Masks, as offsets.
    __device__ __forceinline__ int usable() const { return MASKS; }
    __device__ __forceinline__ int outliers() const { return MASKS + 4 * words; }
    __device__ __forceinline__ int walk() const { return MASKS + 8 * words; }

    // Members of walk before each word.
    __device__ __forceinline__ int *walk_before() const
    {
        return (int *)(shared + MASKS + 12 * words);
    }
    // Elements: standardised values, distance to the nearest centre, label; elements before each
    // word of samples; sample of each.
    __device__ __forceinline__ float *x() const { return (float *)(shared + FIXED_BYTES); }
    __device__ __forceinline__ float *y() const { return x() + 32 * words; }
    __device__ __forceinline__ float *distance() const { return y() + 32 * words; }
    __device__ __forceinline__ int members() const { return MASKS + 16 * words; }
    __device__ __forceinline__ int *elements_before() const
    {
        return (int *)(shared + MASKS + 20 * words);
    }
    __device__ __forceinline__ unsigned short *sample() const
    {
        return (unsigned short *)(shared + MASKS + 24 * words);
    }
    __device__ __forceinline__ unsigned char *label() const
    {
        return shared + MASKS + 88 * words;
    }
    // Rank of each sample.
    __device__ __forceinline__ short *rank() const { return (short *)distance(); }
};

__device__ __forceinline__ unsigned *mask_at(int offset) { return (unsigned *)(shared + offset); }

__device__ __forceinline__ bool holds(int mask, int sample)
{
    return mask_at(mask)[sample >> 5] >> (sample & 31) & 1u;
}
