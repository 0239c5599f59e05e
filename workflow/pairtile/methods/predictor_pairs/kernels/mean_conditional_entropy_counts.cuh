// Counts of samples: a matrix product of bits (mean_conditional_entropy.cu).

// counts[] += samples in rows (low, high: word t of rows g and g + 8) and columns (word t of
// column g) of one chunk, of which `words` are in use.
__device__ __forceinline__ void count(int (&counts)[4], unsigned low, unsigned high,
                                      unsigned column, int words)
{
#if BINARY_TENSOR_CORES
    asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
        : "r"(low), "r"(high), "r"(column));
#else
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (w < words) {
            const unsigned row_low = __shfl_sync(ALL, low, (lane & ~3) + w);
            const unsigned row_high = __shfl_sync(ALL, high, (lane & ~3) + w);
            const unsigned even = __shfl_sync(ALL, column, 8 * (lane & 3) + w);
            const unsigned odd = __shfl_sync(ALL, column, 8 * (lane & 3) + 4 + w);
            counts[0] += __popc(row_low & even);
            counts[1] += __popc(row_low & odd);
            counts[2] += __popc(row_high & even);
            counts[3] += __popc(row_high & odd);
        }
    }
#endif
}

// The same for two chunks.
__device__ __forceinline__ void count_two(int (&counts)[4], unsigned low, unsigned high,
                                          unsigned next_low, unsigned next_high, unsigned column,
                                          unsigned next_column, int words)
{
#if BINARY_TENSOR_CORES
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
        : "r"(low), "r"(high), "r"(next_low), "r"(next_high), "r"(column), "r"(next_column));
#else
    count(counts, low, high, column, words);
    count(counts, next_low, next_high, next_column, words - 4);
#endif
}
