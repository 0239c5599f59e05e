// The mixture of one pair: its values standardised, each K fitted, one chosen.
//
// Mean and variance are sums of the lanes in double precision; the standardised values are single
// from here on. The components of the K that is best so far wait in shared memory while others are
// fitted. With all samples on one line there is one component at once.

// What an axis was moved and divided by.
struct Axis {
    double center, scale;
};

struct Choice {
    int components;
    double log_likelihood, criterion;  // natural units; NaN without a fit
};

// Standardise the elements; false where a gene has no spread. ``r``: Pearson's correlation.
__device__ __forceinline__ bool standardise(
    const Gene &x, const Gene &y, Storage s, int n, Axis &axis_x, Axis &axis_y, double &r)
{
    double inverse_x = 1.0, inverse_y = 1.0;
    r = 0.0;
#if !KINC
    const Moments m = moments(x, y, s, s.usable(), n, n);
    const double variance_x = m.xx / (double)n, variance_y = m.yy / (double)n;
    if (!(variance_x > 0.0) || !(variance_y > 0.0)) return false;
    axis_x = {m.mean_x, sqrt(variance_x)};
    axis_y = {m.mean_y, sqrt(variance_y)};
    inverse_x = 1.0 / axis_x.scale;
    inverse_y = 1.0 / axis_y.scale;
    r = ((m.xy / (double)n) * inverse_x) * inverse_y;
#endif
#pragma unroll 1
    for (int i = s.lane; i < n; i += 32) {
        const int sample = s.sample()[i];
        s.x()[i] = (float)((x.values[sample] - axis_x.center) * inverse_x);
        s.y()[i] = (float)((y.values[sample] - axis_y.center) * inverse_y);
    }
    __syncwarp();
    return true;
}

// A line is one component that has every element, without a fit.
__device__ __forceinline__ void choose_line(Storage s, double r)
{
    if (s.lane == 0) {
        Row c = {};
        c.weight = c.variance_x = c.variance_y = c.inverse_x = c.inverse_y = 1.0f;
        c.covariance = fminf(fmaxf((float)r, -1.0f), 1.0f);
        row_at(CHOSEN, 0) = c;
    }
    __syncwarp();
}

// The number of components of least criterion, to the rows CHOSEN, and the labels of the elements by
// it; returns what is the matter with the pair, or -1.
__device__ __forceinline__ int choose(
    const Gene &x, const Gene &y, Storage s, int n, const Settings &settings,
    unsigned long long pair, double log_n, Axis &axis_x, Axis &axis_y, Choice &choice,
    unsigned long long *counts)
{
    double r;
    if (!standardise(x, y, s, n, axis_x, axis_y, r)) return CONSTANT;
    if (!KINC && 1.0 - r * r < settings.degenerate) {
        choose_line(s, r);
        label_elements(s, n, 1);
        return DEGENERATE;
    }
    const double ln2 = 0.6931471805599453;
    int failed = 0, unfinished = 0, steps = 0;
    choice.components = 0;
#pragma unroll 1
    for (int k = settings.k_min; k <= settings.k_max; k++) {
        int found;
        float bits = 0.0f, entropy = 0.0f;
        switch (k) {
        case 1: found = fit<1>(s, n, settings, pair, bits, entropy, steps); break;
        case 2: found = fit<2>(s, n, settings, pair, bits, entropy, steps); break;
        case 3: found = fit<3>(s, n, settings, pair, bits, entropy, steps); break;
        case 4: found = fit<4>(s, n, settings, pair, bits, entropy, steps); break;
        default: found = fit<5>(s, n, settings, pair, bits, entropy, steps);
        }
        if (found == 0) {
            failed++;
            continue;
        }
        unfinished += found == 2;
        const double likelihood = (double)bits * ln2;
        const double parameters = KINC ? 7 * k : 6 * k - 1;
        double value = settings.criterion == 0 ? 2.0 * parameters - 2.0 * likelihood
                                      : parameters * log_n - 2.0 * likelihood;
        if (settings.criterion == 2) value = value + 2.0 * ((double)entropy * ln2);
        if (choice.components == 0 || value < choice.criterion) {
            choice = {k, likelihood, value};
            copy_rows(NOW, CHOSEN, k, s.lane);
        }
    }
    tally(counts, FITS, settings.k_max - settings.k_min + 1, s.lane);
    tally(counts, FITS_FAILED, failed, s.lane);
    tally(counts, FITS_UNFINISHED, unfinished, s.lane);
    tally(counts, EM_STEPS, steps, s.lane);
    if (choice.components == 0) return FAILED;
    label_elements(s, n, choice.components);
    return -1;
}

// The component that comes at ``place`` of the output.
__device__ __forceinline__ int component_at(int place, int components, int lane)
{
#if KINC
    return place;
#else
    const int own = min(lane, components - 1);
    const float weight = row_at(CHOSEN, own).weight;
    int before = 0;
#pragma unroll 1
    for (int k = 0; k < components; k++) {
        const float other = row_at(CHOSEN, k).weight;
        before += other > weight || (other == weight && k < own);
    }
    return __ffs(__ballot_sync(FULL_WARP, lane < components && before == place)) - 1;
#endif
}
