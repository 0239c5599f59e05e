// Where the fits of a mixture begin: k-means++ (Arthur & Vassilvitskii 2007), and KINC's way.
//
// A centre is drawn in two steps: a scan over the lanes' sums of distances finds the lane, a walk
// over that lane's elements the sample. Of two samples drawn, the one that leaves less distance
// stays. The order of sums is that of the CPU, so that both draw the same samples.

// The sums of the distances of each lane's elements, and of those of the lanes up to it.
struct Distances {
    float own, upto, all;
};

__device__ __forceinline__ Distances sum_distances(Storage s, int n)
{
    Distances d;
    d.own = 0.0f;
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) d.own += s.distance()[i];
    d.upto = d.own;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        const float before = __shfl_up_sync(FULL_WARP, d.upto, reach);
        if (s.lane >= reach) d.upto = d.upto + before;
    }
    d.all = __shfl_sync(FULL_WARP, d.upto, 31);
    return d;
}

// An element drawn with a probability in proportion to its distance.
__device__ __forceinline__ int far_element(
    Storage s, int n, const Distances &d, unsigned long long random)
{
    const float target = draw_uniform(random) * d.all;
    float sum = __shfl_up_sync(FULL_WARP, d.upto, 1);
    if (s.lane == 0) sum = 0.0f;
    int last = -1, chosen = -1;
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        const float distance = s.distance()[i];
        sum += distance;
        if (distance > 0.0f) {
            last = i;
            if (chosen < 0 && sum > target) chosen = i;
        }
    }
    const unsigned has = __ballot_sync(FULL_WARP, d.own > 0.0f);
    const unsigned reaches = __ballot_sync(FULL_WARP, d.upto > target) & has;
    const int lane = reaches ? __ffs(reaches) - 1 : 31 - __clz(has);
    return __shfl_sync(FULL_WARP, chosen >= 0 ? chosen : last, lane);
}

__device__ __forceinline__ float squared_distance(Storage s, int i, float x, float y)
{
    const float dx = s.x()[i] - x, dy = s.y()[i] - y;
    return __fmaf_rn(dx, dx, dy * dy);
}

// The next centre: of two elements drawn, the one that leaves less; -1 where all distances are 0.
__device__ __forceinline__ int next_centre(
    Storage s, int n, unsigned long long pair, int components, int restart, int k)
{
    const Distances d = sum_distances(s, n);
    if (!(d.all > 0.0f)) return -1;
    int best = -1;
    float least = 0.0f;
#pragma unroll 1
    for (int c = 0; c < 2; c++) {
        const int candidate = far_element(s, n, d, draw(pair, components, restart, 2 * k + c));
        const float x = s.x()[candidate], y = s.y()[candidate];
        float left = 0.0f;
#pragma unroll 1
        for (int i = s.lane; i < n; i += 32) {
            const float distance = squared_distance(s, i, x, y), before = s.distance()[i];
            left += distance < before ? distance : before;
        }
        left = butterfly_sum(left);
        if (c == 0 || left < least) {
            best = candidate;
            least = left;
        }
    }
    return best;
}

// Greedy k-means++: the nearest centre of each element as its label, the centres as means of the
// rows NOW, and the sums of the M step for them. One component has its centre at 0. False where
// there are too few distinct elements.
__device__ __noinline__ bool start(
    Storage s, int n, unsigned long long pair, int components, int restart)
{
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < components; k++) {
        float centre_x = 0.0f, centre_y = 0.0f;
        if (components > 1) {
            const int element = k == 0 ? draw_index(draw(pair, components, restart, 0), n)
                                       : next_centre(s, n, pair, components, restart, k);
            if (element < 0) return false;
            centre_x = s.x()[element];
            centre_y = s.y()[element];
        }
        if (s.lane == 0) {
            row_at(NOW, k).mean_x = centre_x;
            row_at(NOW, k).mean_y = centre_y;
        }
#pragma unroll 1
        for (int i = s.lane; i < n; i += 32) {
            const float distance = squared_distance(s, i, centre_x, centre_y);
            if (k == 0 || distance < s.distance()[i]) {
                s.distance()[i] = distance;
                s.label()[i] = k;
            }
        }
    }
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < components; k++) {
        const float centre_x = row_at(NOW, k).mean_x, centre_y = row_at(NOW, k).mean_y;
        float total[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
        for (int i = s.lane; i < n; i += 32)
            if (s.label()[i] == k)
                add_share(total, 0, 1.0f, s.x()[i] - centre_x, s.y()[i] - centre_y);
        store_sums(total, 6 * k, s.lane);
    }
    return true;
}

// The start of KINC: fixed elements, unit covariances.
__device__ __forceinline__ bool start_kinc(Storage s, int n, int components)
{
    const int numbers[COMPONENTS] = {16838, 5758, 10113, 17515, 31051};
    __syncwarp();
    bool good = true;
    if (s.lane < components) {
        int element = 0;
#pragma unroll
        for (int k = 0; k < COMPONENTS; k++)
            if (k == s.lane) element = numbers[k] % n;
        Row c = row_at(NOW, s.lane);
        c.weight = 1.0f / (float)components;
        c.mean_x = s.x()[element];
        c.mean_y = s.y()[element];
        c.variance_x = c.variance_y = 1.0f;
        c.covariance = 0.0f;
        good = derive(c);
        row_at(NOW, s.lane) = c;
    }
    __syncwarp();
    return __all_sync(FULL_WARP, good);
}
