// Counts of sites, and of their pairs by pair score: the twins of hit_sites.seed_classes and
// pair_scores.score_pairs.
//
// class_sites, a thread for each site: walk along the alignment from the miRNA's 5' end to see which
// of positions 1 to 8 pair with neighbouring places, which is the seed class; add 1 to each count of
// sites; and write a key by which sites of a pair come in the order of their strength. The keys are
// sorted between the two kernels. score_pairs, a thread for each pair: the pair score, in float64.

#define OTHER 4
#define SITE_WORDS 5
#define TINY 1e-300

enum { PAIRED, REFERENCE_UNPAIRED, MIRNA_UNPAIRED };
enum { NONE, OFFSET_6MER, SEED_6MER, SEED_7MER_A1, SEED_7MER_M8, SEED_8MER };
enum { WORD_8A, WORD_8, WORD_7A, WORD_7, WORD_38 };

typedef long long int64;
typedef unsigned long long count_t;

struct Sequences {
    const unsigned char *codes;
    const int64 *offsets;
};

// Whether miRNA positions low to high all pair, with neighbours of the transcript.
__device__ bool has_run(const int *opposite, unsigned int paired, int low, int high)
{
    for (int position = low; position <= high; ++position) {
        if (!(paired >> position & 1))
            return false;
        if (position > low && opposite[position] != opposite[position - 1] - 1)
            return false;
    }
    return true;
}

// here, tail, states, n_states   transcript place (from 1) opposite the miRNA's 5' end, how many
//                                letters lie opposite before the states, the last state first
__device__ int seed_class_of(
    const unsigned char *mirna,
    int mirna_length,
    const unsigned char *reference,
    int reference_length,
    int here,
    int tail,
    const unsigned char *states,
    int n_states)
{
    int opposite[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    unsigned int paired = 0;
    int position = 0;
    for (int k = -tail; position < min(mirna_length, 8); ++k) {
        const int state = k < 0 || k >= n_states ? PAIRED : states[k];
        if (state != REFERENCE_UNPAIRED) {
            ++position;
            opposite[position] = here + (state == MIRNA_UNPAIRED);
            if (state == PAIRED && 1 <= here && here <= reference_length) {
                const int a = mirna[position - 1], b = reference[here - 1];
                if (a + b == 3 && a < OTHER && b < OTHER)
                    paired |= 1u << position;
            }
        }
        here -= state != MIRNA_UNPAIRED;
    }
    const int after = opposite[min(2, position)];
    const bool adenosine = 0 <= after && after < reference_length && reference[after] == 0;
    if (has_run(opposite, paired, 2, 8))
        return adenosine ? SEED_8MER : SEED_7MER_M8;
    if (has_run(opposite, paired, 2, 7))
        return adenosine ? SEED_7MER_A1 : SEED_6MER;
    return has_run(opposite, paired, 3, 8) ? OFFSET_6MER : NONE;
}

// Class and count sites.
//
// numbers         (8, n_sites): i, j, row, column, score, begin row and column, number of states
// states          (n_sites, width)
// pair            (n_sites): number of the site's pair, in order
// least_score     what a hit must have
// first_mirna, each   row of the first sequence among all; so many of them are of one miRNA
// site_counts     (each, CLASSES, SCORE_BINS), mirna_sites (miRNAs, CLASSES), mirna_canonical
//                 (miRNAs, each): added to
// seed_class, keys    (n_sites), written
extern "C" __global__ void class_sites(
    int64 n_sites,
    const int *numbers,
    const unsigned char *states,
    int64 width,
    const unsigned char *mirna_codes,
    const int64 *mirna_offsets,
    const unsigned char *reference_codes,
    const int64 *reference_offsets,
    const int64 *pair,
    double least_score,
    int first_mirna,
    int each,
    count_t *site_counts,
    count_t *mirna_sites,
    count_t *mirna_canonical,
    signed char *seed_class,
    count_t *keys)
{
    const int64 site = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= n_sites)
        return;
    const int i = numbers[site], j = numbers[n_sites + site];
    const int row = numbers[2 * n_sites + site], column = numbers[3 * n_sites + site];
    const int n = (int)(mirna_offsets[i + 1] - mirna_offsets[i]);
    const int m = (int)(reference_offsets[j + 1] - reference_offsets[j]);
    const int kind = seed_class_of(
        mirna_codes + mirna_offsets[i], n, reference_codes + reference_offsets[j], m,
        column + n - row, n - row, states + site * width, numbers[7 * n_sites + site]);
    const double above = numbers[4 * n_sites + site] - least_score;
    const int bin = min(max((int)floor(above / SCORE_STEP), 0), SCORE_BINS - 1);
    const int mirna = (first_mirna + i) / each, shuffle = (first_mirna + i) % each;
    atomicAdd(site_counts + (shuffle * CLASSES + kind) * SCORE_BINS + bin, 1);
    atomicAdd(mirna_sites + (int64)mirna * CLASSES + kind, 1);
    if (kind >= SEED_7MER_A1)
        atomicAdd(mirna_canonical + (int64)mirna * each + shuffle, 1);
    seed_class[site] = kind;
    // Of a pair's sites the strongest comes first.
    keys[site] = (count_t)pair[site] << 8 | (255 - (kind * SCORE_BINS + bin));
}

// Probability of count or more events of a Poisson distribution, for count >= 1.
__device__ double at_least(int count, double mean)
{
    if (mean <= 0.0)
        return 0.0;
    if (count == 1)
        return -expm1(-mean);
    if (mean > count) {
        double term = exp(-mean), fewer = 0.0;
        for (int k = 1; k <= count; ++k) {
            fewer += term;
            term *= mean / k;
        }
        return 1.0 - fewer;
    }
    double term = exp(count * log(mean) - mean - lgamma(count + 1.0)), total = 0.0;
    for (int k = count + 1; term > total * 1e-12; ++k) {
        total += term;
        term *= mean / k;
    }
    return total;
}

// Score pairs and count them.
//
// first            (n_pairs + 1): sites of pair p are first[p] .. first[p + 1] - 1
// keys             (sites), sorted
// numbers, n_sites, first_mirna, each   as above; first_transcript: row of the first reference
// log_probability  (sequences, SITE_WORDS), letters (sequences, SITE_WORDS, 4): of SiteWords
// places           (transcripts), log_ratio (transcripts, 4): of Background
// rates            (CLASSES, SCORE_BINS)
// counts           (miRNAs, PAIR_BINS), added to
extern "C" __global__ void score_pairs(
    int64 n_pairs,
    const int64 *first,
    const count_t *keys,
    const int *numbers,
    int64 n_sites,
    int first_mirna,
    int first_transcript,
    int each,
    const double *log_probability,
    const double *letters,
    const double *places,
    const double *log_ratio,
    const double *rates,
    count_t *counts)
{
    const int64 pair = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= n_pairs)
        return;
    const int64 mirna = first_mirna + numbers[first[pair]];
    const int64 transcript = first_transcript + numbers[n_sites + first[pair]];
    double number[SITE_WORDS];
    for (int word = 0; word < SITE_WORDS; ++word) {
        double log_of_word = log_probability[mirna * SITE_WORDS + word];
        for (int letter = 0; letter < 4; ++letter)
            log_of_word += letters[(mirna * SITE_WORDS + word) * 4 + letter] *
                           log_ratio[transcript * 4 + letter];
        number[word] = places[transcript] * exp(log_of_word);
    }
    const double seven = fmax(number[WORD_8] - number[WORD_8A], 0.0);
    const double expected[CLASSES] = {
        places[transcript],
        fmax(number[WORD_38] - number[WORD_8], 0.0),
        fmax(number[WORD_7] - number[WORD_7A] - seven, 0.0),
        fmax(number[WORD_7A] - number[WORD_8A], 0.0),
        seven,
        number[WORD_8A],
    };
    double least = 1.0;
    for (int64 site = first[pair]; site < first[pair + 1]; ++site) {
        const int strength = 255 - (int)(keys[site] & 255);
        const int kind = strength / SCORE_BINS, bin = strength % SCORE_BINS;
        double mean = expected[kind] * rates[kind * SCORE_BINS + bin];
        for (int better = kind + 1; better < CLASSES; ++better)
            mean += expected[better] * rates[better * SCORE_BINS];
        least = fmin(least, at_least((int)(site - first[pair]) + 1, mean));
    }
    const float score = (float)-log10(fmax(least, TINY));
    const int bin = min((int)(score / (float)PAIR_STEP), PAIR_BINS - 1);
    atomicAdd(counts + mirna / each * PAIR_BINS + bin, 1);
}
