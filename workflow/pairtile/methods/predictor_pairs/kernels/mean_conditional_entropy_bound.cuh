// The lower bound of a score in float32 (mean_conditional_entropy.cu says why it is one).

__device__ __forceinline__ float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What the bound takes from the cells of a set, where they have one size for all targets.
struct Bound {
    float size[CELLS];    // two levels: 4 w, else n
    float weight[CELLS];  // 4 w / n
    float third[CELLS];   // THIRD / n
    float special;        // what cells not observed (no_obs) or observed once (poor_obs) add
};

// Lower bound of S MCE, with no_obs of (S + alpha M) MCE, less its limit: a sum over cells.
struct Sum {
    float total, size, special;

    // limit: the limit of the bound (COUNT_ALL: in bits of MCE), factor of Bound.special
    __device__ __forceinline__ void start(const Bound &bound, float2 limit)
    {
        size = special = 0.0f;
        total = COUNT_ALL ? 0.0f : PENALTY ? fmaf(bound.special, limit.y, -limit.x) : -limit.x;
    }

    // n: samples of one cell at each counted level
    __device__ __forceinline__ void add(const float (&n)[CLASSES], const Bound &bound, int cell,
                                        float special_weight)
    {
        if constexpr (LEVELS == 2 && !COUNT_ALL) {
            total = fmaf(n[0], fmaf(-bound.weight[cell], n[0], bound.size[cell]), total);
        } else {
            float e1, e2, e3, e4;  // n^k e_k(p) of the levels so far
            const auto next = [&](int level, float count) {
                if (level >= 3)
                    e4 = count * e3;
                if (level >= 2)
                    e3 = level == 2 ? count * e2 : fmaf(count, e2, e3);
                if (level >= 1)
                    e2 = level == 1 ? count * e1 : fmaf(count, e1, e2);
                e1 = level == 0 ? count : e1 + count;
            };
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                next(c, n[c]);
            float weight, third;
            if constexpr (COUNT_ALL) {
                const float part = reciprocal(fmaxf(e1, 1.0f));
                const float alpha = PENALTY == NO_OBS ? special_weight : 0.0f;
                weight = fmaf(4.0f * alpha, part, 4.0f) * part;
                third = THIRD * part;
                size += e1;
                if (PENALTY)
                    special += e1 == (PENALTY == NO_OBS ? 0.0f : 1.0f) ? special_weight : 0.0f;
            } else {
                weight = bound.weight[cell];
                third = bound.third[cell];
                next(LEVELS - 1, bound.size[cell] - e1);
            }
            if (TIGHT && LEVELS > 2) {
                if (LEVELS > 3)
                    e3 = fmaf(FOURTH * e4, third, e3);
                e2 = fmaf(e3, third, e2);
            }
            total = fmaf(e2, weight, total);
        }
    }

    __device__ __forceinline__ float excess(float2 limit, float special_weight) const
    {
        if (!COUNT_ALL)
            return total;
        // At least 1, so that padding, which has no samples, does not pass.
        const float samples = fmaxf(size, 1.0f);
        const float penalised =
            PENALTY == NO_OBS ? fmaf((float)CELLS, special_weight, samples) : samples;
        return fmaf(-limit.x, penalised, PENALTY ? fmaf(special, limit.y, total) : total);
    }
};
