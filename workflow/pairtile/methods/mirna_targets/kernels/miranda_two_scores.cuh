// Arithmetic of the screen of miranda_alignment.cu: two scores in one register.

// ---- two scores in one register ------------------------------------------------------------
//
// Scores are 0 .. 2047, one for each of two miRNAs in the halves of a register. As bit patterns of
// half-precision numbers, the integers 0 .. 2047 are equally spaced numbers (subnormal up to 1023),
// so that half-precision addition is exact integer addition. That moves three operations of a cell
// from the integer units, which all comparisons need, to the floating-point units, which idle.

typedef unsigned int Two;

#if __CUDA_ARCH__ >= 800
#define HALF_ADDITION 1
#else
#define HALF_ADDITION 0
#endif

// A number to add: sign and magnitude for half-precision addition, else two's complement.
__device__ __forceinline__ Two addend(int low, int high)
{
#if HALF_ADDITION
    const unsigned int l = low < 0 ? 0x8000u | (unsigned int)-low : (unsigned int)low;
    const unsigned int h = high < 0 ? 0x8000u | (unsigned int)-high : (unsigned int)high;
    return l | h << 16;
#else
    return ((unsigned int)low & 0xffffu) | (unsigned int)high << 16;
#endif
}

// max(x + y, 0)
__device__ __forceinline__ Two add_or_zero(Two x, Two y)
{
#if HALF_ADDITION
    Two sum;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(0x3c003c00u), "r"(y));
    return sum;
#else
    return __vmaxs2(__vadd2(x, y), 0);
#endif
}

__device__ __forceinline__ Two larger(Two x, Two y)
{
#if HALF_ADDITION && __CUDA_ARCH__ < 900
    Two most;
    asm("max.f16x2 %0, %1, %2;" : "=r"(most) : "r"(x), "r"(y));
    return most;
#else
    return __vmaxs2(x, y);
#endif
}

__device__ __forceinline__ Two largest(Two x, Two y, Two z)
{
#if __CUDA_ARCH__ >= 900
    return __vimax3_s16x2(x, y, z);
#else
    return larger(larger(x, y), z);
#endif
}

// What a gap of any kind costs: one number in both halves.
__device__ __forceinline__ Two open_addend(int open)
{
#if __CUDA_ARCH__ >= 900
    return ((unsigned int)open & 0xffffu) | (unsigned int)open << 16;
#else
    return addend(open, open);
#endif
}

// max(a + open, extended), where extended >= 0
__device__ __forceinline__ Two open_or_extended(Two a, Two open, Two extended)
{
#if __CUDA_ARCH__ >= 900
    return __viaddmax_s16x2(a, open, extended);
#elif HALF_ADDITION
    Two opened;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(opened) : "r"(a), "r"(open));
    return larger(opened, extended);
#else
    return __vmaxs2(__vadd2(a, open), extended);
#endif
}

// The same number; the compiler does not make it anew in each column.
__device__ __forceinline__ Two in_register(Two x)
{
    asm volatile("" : "+r"(x));
    return x;
}
