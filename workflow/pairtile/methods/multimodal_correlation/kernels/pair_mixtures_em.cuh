// One step of expectation maximisation for the elements of one pair, by a warp.
//
// Responsibilities are never stored: an E step sums what the M step needs, and lane k then makes
// component k from the sums. The kernel's speed is that of fetching instructions where its code
// outgrows the cache: what does not depend on K but for a limit stands in the code once, and loops
// over elements are not unrolled.

// Make a component ready for the E step; false where it has no inverse.
__device__ __forceinline__ bool derive(Row &c)
{
    const float det = c.variance_x * c.variance_y - c.covariance * c.covariance;
    const float H = 0.84932180f;  // sqrt(log2(e) / 2)
    c.inverse_x = H / sqrtf(c.variance_x);
    c.slope = c.covariance / c.variance_x;
    c.inverse_y = H / sqrtf(det / c.variance_x);
    c.constant = (log2_of(c.weight) - 2.6514961f) - 0.5f * log2_of(det);
    return det > 0.0f && c.variance_x > 0.0f;
}

template <int K>
struct Shapes {
    float mean_x[K], mean_y[K], inverse_x[K], slope[K], inverse_y[K], constant[K];

    __device__ __forceinline__ explicit Shapes(int rows)
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            const float4 a = *(const float4 *)(shared + rows + 48 * k);
            const float2 b = *(const float2 *)(shared + rows + 48 * k + 16);
            mean_x[k] = a.x;
            mean_y[k] = a.y;
            inverse_x[k] = a.z;
            slope[k] = a.w;
            inverse_y[k] = b.x;
            constant[k] = b.y;
        }
    }

    // log2 of weight times density.
    __device__ __forceinline__ float density(int k, float dx, float dy) const
    {
        const float u = dx * inverse_x[k];
        const float v = __fmaf_rn(-slope[k], dx, dy) * inverse_y[k];
        return __fmaf_rn(-v, v, __fmaf_rn(-u, u, constant[k]));
    }
};

// Add an element's share in component k to the sums of the M step.
template <int N>
__device__ __forceinline__ void add_share(float (&total)[N], int k, float share, float dx, float dy)
{
    const float gx = share * dx, gy = share * dy;
    total[6 * k] += share;
    total[6 * k + 1] += gx;
    total[6 * k + 2] += gy;
    total[6 * k + 3] = __fmaf_rn(gx, dx, total[6 * k + 3]);
    total[6 * k + 4] = __fmaf_rn(gx, dy, total[6 * k + 4]);
    total[6 * k + 5] = __fmaf_rn(gy, dy, total[6 * k + 5]);
}

// To the sums: those of the M step, then that of the largest log2 densities, then of log2 of what
// the scaled ones add up to: 6 K + 2.
template <int K>
__device__ __forceinline__ void expectation(Storage s, int n)
{
    const Shapes<K> shapes(NOW);
    float total[6 * K + 2];
#pragma unroll
    for (int i = 0; i < 6 * K + 2; i++) total[i] = 0.0f;
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        const float x = s.x()[i], y = s.y()[i];
        float dx[K], dy[K], part[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            dx[k] = x - shapes.mean_x[k];
            dy[k] = y - shapes.mean_y[k];
            part[k] = shapes.density(k, dx[k], dy[k]);
        }
        float largest = part[0];
#pragma unroll
        for (int k = 1; k < K; k++) largest = fmaxf(largest, part[k]);
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < K; k++) {
            part[k] = exp2_of(part[k] - largest);
            sum = k == 0 ? part[0] : sum + part[k];
        }
        total[6 * K] += largest;
        total[6 * K + 1] += log2_of(sum);
        const float inverse = 1.0f / sum;
#pragma unroll
        for (int k = 0; k < K; k++) add_share(total, k, part[k] * inverse, dx[k], dy[k]);
    }
    store_sums(total, 0, s.lane);
}

// New components from the sums of the E step; false where one is lost.
__device__ __noinline__ bool maximization(
    int components, int n, int lane, float least, float ridge, float prior_scatter, float prior_n)
{
    bool good = true;
    if (lane < components) {
        Row c = row_at(NOW, lane);
        const float *const sums = sums_at() + 6 * lane;
        const float count = sums[0], a = sums[1], b = sums[2];
        const float inverse = 1.0f / count;
        const float ex = a * inverse, ey = b * inverse;
        c.mean_x += ex;
        c.mean_y += ey;
        const float q = 1.0f / (count + prior_n);
        const float scatter = prior_scatter / (float)components;
        c.variance_x = __fmaf_rn(__fmaf_rn(-a, ex, sums[3]) + scatter, q, ridge);
        c.variance_y = __fmaf_rn(__fmaf_rn(-b, ey, sums[5]) + scatter, q, ridge);
        c.covariance = __fmaf_rn(-a, ey, sums[4]) * q;
        c.weight = count / (float)n;
        good = derive(c) && count >= least && count > 0.0f;
        row_at(NOW, lane) = c;
    }
    __syncwarp();
    return __all_sync(FULL_WARP, good);
}
