// What the 32 lanes of a warp make of a value that each has.

#define FULL_WARP 0xffffffffu

__device__ __forceinline__ int warp_smallest(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(FULL_WARP, value);
#else
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2)
        value = min(value, __shfl_xor_sync(FULL_WARP, value, reach));
    return value;
#endif
}

__device__ __forceinline__ int warp_sum(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(FULL_WARP, value);
#else
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(FULL_WARP, value, reach);
    return value;
#endif
}

__device__ __forceinline__ int warp_largest(int value) { return -warp_smallest(-value); }

__device__ __forceinline__ double warp_smallest(double value)
{
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2)
        value = fmin(value, __shfl_xor_sync(FULL_WARP, value, reach));
    return value;
}

__device__ __forceinline__ double warp_largest(double value) { return -warp_smallest(-value); }
