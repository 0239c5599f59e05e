// Gaussian mixtures and correlations of pairs of genes: one warp, which is a block, for each pair.
//
// The warp does what the CPU's thread does (pair_mixtures.py): samples that enter, the fit, each
// sample's component, the correlation of each mode. Element i of the pair is lane i % 32's; the fit
// works on shared memory alone. Each pair has its own place for the modes it can have: nothing
// depends on the order in which warps finish.
//
// Macros: KINC (1: the rules of KINC), SPEARMAN. Needs --fmad=false: results are those of the CPU
// bit for bit, and both say where they fuse.

#include "pair_mixtures_arguments.cuh"
#include "pair_mixtures_shared.cuh"
#include "pair_mixtures_math.cuh"
#include "pair_mixtures_lanes.cuh"
#include "pair_mixtures_em.cuh"
#include "pair_mixtures_start.cuh"
#include "pair_mixtures_fit.cuh"
#include "pair_mixtures_masks.cuh"
#include "pair_mixtures_correlation.cuh"
#include "pair_mixtures_pair.cuh"
#include "pair_mixtures_choice.cuh"

// Blocks of a multiprocessor, as many as keep the fit's sums in registers for the most part. On an
// H200 a fit then issues an instruction in two of three cycles; it waits for instructions to be
// fetched, and for the arithmetic before.
#define BLOCKS 28

// Bits to the order of np.packbits: the first sample is the highest bit of the first byte.
__device__ __forceinline__ unsigned packed(unsigned word)
{
    word = __brev(word);
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS) pair_mixtures(
    const Genes genes, const Places places, const Settings settings, const Found found,
    const Sums sums)
{
    const int lane = threadIdx.x;
    const Storage s = {(genes.n_samples + 31) / 32, lane};
    const long long here = blockIdx.x;
    const Pair p = find_pair(genes, places, places.first_pair + here);
    const Gene x = gene_of(genes, p.of_x), y = gene_of(genes, p.of_y);
    if (lane == 0) {
        found.row[here] = p.row;
        found.column[here] = p.column;
        found.n_clusters[here] = 0;
    }

    int problem = -1;
    const int n = take_samples(genes, p, x, y, s, settings.outliers_before, settings.min_samples);
    if (n < 0) problem = TOO_FEW_SAMPLES;
    else if (is_constant(x, s.usable(), s.words, lane) || is_constant(y, s.usable(), s.words, lane))
        problem = CONSTANT;
    const double unknown = __longlong_as_double(0x7ff8000000000000ll);
    Choice choice = {1, unknown, unknown};
    Axis axis_x = {0.0, 1.0}, axis_y = {0.0, 1.0};
    if (problem < 0) {
        list_samples(s);
        const unsigned long long a = genes.keys[p.of_x], b = genes.keys[p.of_y];
        const unsigned long long pair = pair_seed(settings.seed, min(a, b), max(a, b));
        problem = choose(x, y, s, n, settings, pair, genes.log_n[n], axis_x, axis_y, choice,
                         sums.counts);
    }
    const int components = problem < 0 || problem == DEGENERATE ? choice.components : 0;
    if (problem >= 0) tally(sums.counts, problem, 1, lane);
    tally(sums.histogram_k, components, 1, lane);

    int kept = 0, small = 0, undefined = 0;
#pragma unroll 1
    for (int place = 0; place < components; place++) {
        const int k = component_at(place, components, lane);
        int members = take_members(s, k);
        if (settings.outliers_after && components > 1)
            members = remove_outliers(x, y, s.members(), s.outliers(), members, s.words, lane);
        if (members < settings.min_samples || members < 2) {
            small++;
            continue;
        }
        double r = 0.0;
#if SPEARMAN
        const bool defined = spearman(x, y, s, members, r);
#else
        const bool defined = pearson(x, y, s, n, members, r);
#endif
        if (!defined) {
            undefined++;
            continue;
        }
        tally(sums.histogram_r, min(199, (int)floor((r + 1.0) * 100.0)), 1, lane);
        if (!(fabs(r) >= settings.min_correlation && fabs(r) <= settings.max_correlation)) continue;

        const Row c = row_at(CHOSEN, k);
        const float weight = c.weight;
        const double mean_x = axis_x.center + axis_x.scale * (double)c.mean_x;
        const double mean_y = axis_y.center + axis_y.scale * (double)c.mean_y;
        const double variance_x = axis_x.scale * axis_x.scale * (double)c.variance_x;
        const double variance_y = axis_y.scale * axis_y.scale * (double)c.variance_y;
        const double covariance = axis_x.scale * axis_y.scale * (double)c.covariance;
        const long long at = here * settings.k_max + kept;
        if (lane == 0) {
            const double unit_x = genes.unit[p.of_x], unit_y = genes.unit[p.of_y];
            const float of_x[2] = {(float)(mean_x * unit_x), (float)(variance_x * (unit_x * unit_x))};
            const float of_y[2] = {(float)(mean_y * unit_y), (float)(variance_y * (unit_y * unit_y))};
            float *const numbers = found.numbers + 7 * at;
            numbers[0] = (float)r;
            numbers[1] = weight;
            numbers[2] = p.swapped ? of_y[0] : of_x[0];
            numbers[3] = p.swapped ? of_x[0] : of_y[0];
            numbers[4] = p.swapped ? of_y[1] : of_x[1];
            numbers[5] = p.swapped ? of_x[1] : of_y[1];
            numbers[6] = (float)(covariance * (unit_x * unit_y));
            found.n_samples[at] = members;
        }
        for (int w = lane; w < s.words; w += 32)
            found.members[at * s.words + w] = packed(mask_at(s.members())[w]);
        kept++;
        __syncwarp();
    }
    tally(sums.counts, MODES_SMALL, small, lane);
    tally(sums.counts, MODES_UNDEFINED, undefined, lane);
    if (kept == 0) return;
    if (lane == 0) {
        found.n_clusters[here] = kept;
        found.n_modes[here] = components;
        found.n_usable[here] = n;
        const float missing = __int_as_float(0x7fc00000);  // as the CPU writes NaN
        const bool fitted = !isnan(choice.criterion);
        found.log_likelihood[here] = fitted ? (float)choice.log_likelihood : missing;
        found.criterion[here] = fitted ? (float)choice.criterion : missing;
    }
    for (int w = lane; w < s.words; w += 32)
        found.outliers[here * s.words + w] = packed(mask_at(s.outliers())[w]);
}
