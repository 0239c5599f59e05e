// Logarithm, exponential and random numbers of the mixtures: the same bits as on the CPU.
//
// Polynomials of +, * and fma, with the coefficients of vectors.py: each operation rounds alike on
// every machine, which the libraries' functions do not. Random numbers are hashes of a count
// (SplitMix64): they depend on what is drawn, not on the order of drawing.

// 2^t for t <= 0; 0 below -126.5. The nearest integer is found by adding 1.5 * 2^23, whose lowest
// bits it then is; they are shifted to where a float has its exponent.
__device__ __forceinline__ float exp2_of(float t)
{
    t = fmaxf(t, -127.0f);
    const float shifted = t + 12582912.0f;
    const float f = t - (shifted - 12582912.0f);
    float p = 1.326472725e-03f;
    p = __fmaf_rn(p, f, 9.671512786e-03f);
    p = __fmaf_rn(p, f, 5.550733744e-02f);
    p = __fmaf_rn(p, f, 2.402224208e-01f);
    p = __fmaf_rn(p, f, 6.931469776e-01f);
    p = __fmaf_rn(p, f, 1.0f);
    return p * __int_as_float((__float_as_int(shifted) << 23) + 0x3f800000);
}

// log2(s) for normal s > 0.
__device__ __forceinline__ float log2_of(float s)
{
    const int bits = __float_as_int(s);
    const int exponent = (bits - 0x3F3504F3) >> 23;
    const float z = __int_as_float(bits - (exponent << 23)) - 1.0f;
    float p = 1.292643720e-01f;
    p = __fmaf_rn(p, z, -2.089339071e-01f);
    p = __fmaf_rn(p, z, 2.152122644e-01f);
    p = __fmaf_rn(p, z, -2.386756684e-01f);
    p = __fmaf_rn(p, z, 2.879390924e-01f);
    p = __fmaf_rn(p, z, -3.607162643e-01f);
    p = __fmaf_rn(p, z, 4.809102799e-01f);
    p = __fmaf_rn(p, z, -7.213471993e-01f);
    p = __fmaf_rn(p, z, 1.442695005e+00f);
    return __fmaf_rn(z, p, (float)exponent);
}

#define GOLDEN 0x9E3779B97F4A7C15ull

// The finisher of splitmix64 (Steele, Lea & Flood 2014).
__device__ __forceinline__ unsigned long long mixed(unsigned long long z)
{
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9ull;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

__device__ __forceinline__ unsigned long long pair_seed(
    unsigned long long seed, unsigned long long smaller, unsigned long long larger)
{
    return mixed(mixed(mixed(seed + GOLDEN) ^ smaller) + larger);
}

__device__ __forceinline__ unsigned long long draw(
    unsigned long long pair, int components, int restart, int number)
{
    return mixed(pair + GOLDEN * (1 + number + 16ull * (restart + 1024ull * components)));
}

__device__ __forceinline__ int draw_index(unsigned long long random, int n)
{
    return (int)(((random >> 32) * (unsigned long long)n) >> 32);
}

__device__ __forceinline__ float draw_uniform(unsigned long long random)
{
    return (float)(random >> 40) * 5.9604644775390625e-08f;  // 2^-24
}
