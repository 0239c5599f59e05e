// Sizes that follow from the settings of mean_conditional_entropy.cu, and what a search is given.

#define CHUNKS ((WORDS + 3) / 4)
#define STRIDE (4 * CHUNKS)  // words of a plane: whole chunks of 128 samples
#ifndef LAGS
#define LAGS 1  // neighbouring predictors that are one for `exclude`
#endif
#define NO_OBS 1
#define POOR_OBS 2
#define CODE_BITS (CARDINALITY > 3 ? 15 : 21)  // of a predictor's number in the code of a set

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 1000
#define BINARY_TENSOR_CORES 1
#else
#define BINARY_TENSOR_CORES 0
#endif

constexpr int LEFT_CELLS = CARDINALITY == 1   ? 1
                           : CARDINALITY == 2 ? LEVELS
                           : CARDINALITY == 3 ? LEVELS * LEVELS
                                              : LEVELS * LEVELS * LEVELS;
constexpr int CELLS = LEFT_CELLS * LEVELS;
constexpr int CLASSES = COUNT_ALL ? LEVELS : LEVELS - 1;
constexpr int FIRST_CLASS = LEVELS - CLASSES;
constexpr int ROW_TILES = (CELLS + 1) / 2;
constexpr int COLUMN_TILES = (CLASSES + 1) / 2;
constexpr int LANE_TARGETS = CLASSES == 1 ? 2 : 1;
constexpr int GROUP = 4 * LANE_TARGETS;  // targets of a column tile
// Lefts and groups of targets that are taken together, to have enough independent instructions.
constexpr int LEFTS = LEVELS == 2 && CARDINALITY == 2 && !COUNT_ALL && CHUNKS <= 2 ? 2 : 1;
constexpr int GROUPS = CELLS <= 9 && CHUNKS <= 4 && !COUNT_ALL ? 2 : 1;
static_assert(GROUP * GROUPS <= 16, "tiles come in multiples of 16 targets");
constexpr int SCORES = LEFTS * GROUPS * LANE_TARGETS;  // of a lane at a time
constexpr bool RESIDENT = (LEFT_CELLS + LEVELS) * CHUNKS <= 48;  // planes fit in registers
constexpr bool COLUMNS_RESIDENT = COLUMN_TILES * CHUNKS <= 16;
constexpr int UNROLL = CHUNKS <= 16 ? CHUNKS : 4;
constexpr int WARPS = 4;
constexpr int QUEUE = 64;
constexpr unsigned ALL = 0xffffffffu;
constexpr int MAGIC = 0x4b000000;  // bits of 2^23; plus a count, they are those of 2^23 + count
constexpr float MAGIC_VALUE = 8388608.0f;
constexpr float NO_LIMIT = 1e30f;
constexpr float THIRD = 1.698496f;   // K3 / 4
constexpr float FOURTH = 1.672177f;  // 4 K4 / K3^2

struct Search {
    const unsigned *left_planes, *right_planes, *target_planes;
    const long long *left_codes;
    const int *exclude;
    const double *log_table;
    const long long *cut_keys, *cut_codes;
    double alpha, poor_bits;
    int min_samples, zero_is_exact, first_left, first_right;
    unsigned capacity;
    int row_length;
    double *scores;
    long long *codes;
    unsigned *n_candidates;
};
