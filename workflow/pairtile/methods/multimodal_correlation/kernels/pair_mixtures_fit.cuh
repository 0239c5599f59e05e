// Fits of a mixture of K components to the elements of one pair, by a warp.
//
// A few steps from each start, then the best start goes on to its end. Both kinds of steps are one
// loop, so that the code of a step stands there once and stays in the instruction cache. K is a
// template argument: the sums over samples are registers then.

// Copy components from one place to another.
__device__ __forceinline__ void copy_rows(int from, int to, int components, int lane)
{
    if (lane < components) row_at(to, lane) = row_at(from, lane);
    __syncwarp();
}

// Fit K components, to the rows NOW; returns 0 failed, 1 finished, 2 unfinished. ``likelihood``
// and ``entropy`` in bits; ``steps`` counts E steps. The steps of short runs and of the long one
// stand in the code once.
template <int K>
__device__ __forceinline__ int fit(
    Storage s, int n, const Settings &c, unsigned long long pair, float &likelihood,
    float &entropy, int &steps)
{
    int step = 0;
    float now = 0.0f, previous = 0.0f;
#if KINC
    if (!start_kinc(s, n, K)) return 0;
#else
    int restart = -1;
    bool is_long = false, ok = false, any = false;
    float best = 0.0f;
#endif
#pragma unroll 1
    while (true) {
#if !KINC
        if (ok) ok = maximization(K, n, s.lane, c.least, c.ridge, c.prior_scatter, c.prior_n);
        if (is_long) {
            if (!ok) return 0;
        } else if (!ok || step == c.short_steps || K == 1) {
            // A short run is over, or the first is to begin; one component needs none.
            if (ok && (!any || now > best)) {
                if (K > 1) copy_rows(NOW, BEST, K, s.lane);
                best = now;
                any = true;
            }
            if (++restart < (K == 1 ? 1 : c.restarts)) {
                step = 0;
                ok = start(s, n, pair, K, restart);
                continue;
            }
            if (!any) return 0;
            if (K > 1) copy_rows(BEST, NOW, K, s.lane);
            now = best;
            step = 0;
            ok = is_long = true;
        }
#endif
        previous = now;
        expectation<K>(s, n);
        steps++;
        step++;
        entropy = sums_at()[6 * K + 1];
        now = sums_at()[6 * K] + entropy;
        likelihood = now;
#if KINC
        if (step > 1 && fabsf(now - previous) * 0.69314718f < 1e-8f) return 1;
        if (step == c.limit) return 2;
        if (!maximization(K, n, s.lane, c.least, c.ridge, c.prior_scatter, c.prior_n)) return 0;
#else
        if (is_long) {
            if (K == 1 || now - previous < c.tolerance * (float)n) return 1;
            if (step == c.limit) return 2;
        }
#endif
    }
}

// The most likely of the chosen components, for each element.
__device__ __forceinline__ void label_elements(Storage s, int n, int components)
{
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        float largest = 0.0f;
        int label = 0;
#pragma unroll 1
        for (int k = 0; k < components; k++) {
            const Shapes<1> shape(CHOSEN + 48 * k);
            const float part =
                shape.density(0, s.x()[i] - shape.mean_x[0], s.y()[i] - shape.mean_y[0]);
            if (k == 0 || part > largest) {
                largest = part;
                label = k;
            }
        }
        s.label()[i] = label;
    }
    __syncwarp();
}
