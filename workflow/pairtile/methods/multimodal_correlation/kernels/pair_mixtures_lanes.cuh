// Sums over the 32 lanes of a warp, all by the butterfly 16, 8, 4, 2, 1, so that their bits are those
// of the CPU. Several values are folded together: each level of the butterfly halves their number, so
// that N sums cost about N exchanges, not 5 N.

#define FULL_WARP 0xffffffffu

template <typename NUMBER>
__device__ __forceinline__ NUMBER butterfly_sum(NUMBER value)
{
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(FULL_WARP, value, reach);
    return value;
}

// One level of the butterfly for N values: of two values each lane keeps one and hands over the
// other, so that a level costs N / 2 exchanges and N is halved. The last value of an odd number
// stays with both.
template <int N, int REACH>
__device__ __forceinline__ void fold(float *value, int lane)
{
    constexpr int HALF = (N + 1) / 2;
    const bool upper = lane & REACH;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        if (i + HALF < N) {
            const float kept = upper ? value[i + HALF] : value[i];
            const float given = upper ? value[i] : value[i + HALF];
            value[i] = kept + __shfl_xor_sync(FULL_WARP, given, REACH);
        } else {
            value[i] += __shfl_xor_sync(FULL_WARP, value[i], REACH);
        }
    }
    if constexpr (REACH > 1) fold<HALF, REACH / 2>(value, lane);
}

// Number of the value whose sum ``fold<N, 16>`` leaves in this lane; N or more: none of its own.
template <int N, int REACH = 16>
__device__ __forceinline__ int folded(int lane)
{
    constexpr int HALF = (N + 1) / 2;
    int place = 0;
    if constexpr (REACH > 1) place = folded<HALF, REACH / 2>(lane);
    if (place >= HALF) return N;
    return lane & REACH ? place + HALF : place;
}

// Sums over all lanes of N <= 32 values that each lane has, from place ``first`` of the sums.
template <int N>
__device__ __forceinline__ void store_sums(float (&value)[N], int first, int lane)
{
    fold<N, 16>(value, lane);
    const int number = folded<N>(lane);
    if (number < N) sums_at()[first + number] = value[0];
    __syncwarp();
}

__device__ __forceinline__ unsigned lanes_below(int lane) { return (1u << lane) - 1u; }
