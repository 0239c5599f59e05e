// What the host hands over (mixtures.py): five structures by value, of which the pointers are to
// arrays on the GPU. Field for field they are its NumPy types GENES, PLACES, SETTINGS, FOUND and
// SUMS; tests/core/test_kernels_compile.py compares names, places and sizes.

struct Genes {
    const double *values;                                // (genes, samples), scaled; 0: not usable
    const double *unit;                                  // (genes), what they were divided by
    const unsigned *present;                             // (genes, words)
    const unsigned *outlying;                            // (genes, words): beyond its own fences
    const unsigned short *order, *run_first, *run_last;  // (genes, samples)
    const int *codes;                                    // (genes, samples), dense ranks
    const int *n_usable;                                 // (genes)
    const unsigned char *tied;                           // (genes)
    const unsigned long long *keys;                      // (genes)
    const double *log_n;                                 // (samples + 1), ln n
    int n_samples;
};

// The pairs of a tile, row after row; ``upper``: those with column > row.
struct Places {
    const int *rows, *columns;   // numbers of genes
    const long long *row_start;  // (n_rows + 1), pairs before each row
    long long first_pair;        // of this launch
    int n_rows, upper;
};

struct Settings {
    unsigned long long seed;
    double min_correlation, max_correlation;
    double degenerate;  // a pair with 1 - r^2 below this is on a line
    float tolerance, ridge, prior_scatter, prior_n, least;
    int k_min, k_max, criterion;  // 0 AIC, 1 BIC, 2 ICL
    int min_samples, outliers_before, outliers_after;
    int restarts, short_steps, limit;
};
static_assert(sizeof(Settings) == 88, "another layout than SETTINGS of mixtures.py");

// What is written: of each pair of the launch, and of each of its k_max places for modes.
struct Found {
    int *row, *column;             // places among those asked for
    int *n_clusters;               // modes that are kept
    int *n_modes, *n_usable;       // components; samples
    float *log_likelihood, *criterion;
    unsigned *outliers;            // (pairs, words)
    int *n_samples;                // (modes), as all that follow
    float *numbers;                // (modes, 7)
    unsigned *members;             // (modes, words)
};

// Added to by all pairs: see ``Count``, modes of a pair, and modes by correlation.
struct Sums {
    unsigned long long *counts, *histogram_k, *histogram_r;
};
