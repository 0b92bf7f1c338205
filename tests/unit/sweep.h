/*
 * sweep.h - which trials of an algorithm are made: the one place that decides.
 *
 * With p ranks, b elements (of a block, where there are blocks), and the option values and shapes
 * of trials.h:
 *
 *   ranks        1 .. 64; 127, 128, 129, 255, 256, 257 where the rounds are logarithmic
 *   p <= 8       all combinations of: option values, b of {0, 1, 3, p-1, p, p+1, 2p+3}, in place or
 *                not, every root, 1 to 3 channels (channels take turns where options are not the
 *                standard ones). Of more than 16 combinations of options, 16 take turns
 *   p <= 17      the same; roots 0, 1, p/3, p-1 take turns; collectives of p blocks, which are
 *                large as they are, have b of {0, 1, 3, p+1}
 *   p <= 64      standard options: in place and not, with a count that divides badly and one that
 *                is smaller than p; 3 combinations of other option values, one each. Counts, roots
 *                and 1 or 2 channels take turns, and so do the other combinations from p to p + 1
 *   p <= 4       also, with standard options, long blocks, which channels cut in units
 *                (collective/schedule/schedule.h): 2 and 3 channels, in place and not
 *   beyond       standard options, and one other combination, with one small count
 *
 *   groups       for algorithms that need them, given by the problem or by the option: equal groups
 *                of every size, together and dealt round, and five unequal shapes (up to 6 ranks:
 *                all that stand together, and one that does not); beyond 36 ranks one in 4 of
 *                these. In each shape, standard options: for p <= 8 all combinations of b, in place
 *                or not, root; for larger p in place and not. Of other options 3 combinations, one
 *                each
 *   counts       for forms with counts, the distributions take turns; b is the mean
 *
 * Whose turn it is, chance decides, in the same way each time, so that no two things keep step.
 * Under sanitizers there are fewer ranks.
 */
#ifndef CCTEST_TEST_SWEEP_H
#define CCTEST_TEST_SWEEP_H

#include "trials.h"

#define ALL_OF_ALL    (SANITIZED ? 4 : 8) /* ranks, up to which there are all counts and roots */
#define FULL_PRODUCT  17
#define SHAKEN_MOST   (SANITIZED ? 11 : 17)
#define CHANNELS_MOST 3
#define LONG_MOST     4 /* ranks, up to which there are long blocks */
#define SHAPES_MOST   36
#define COMBINATIONS  16
#define EVERY_NUMBER  (SANITIZED ? 9 : 64)
#define FAR_MOST      (SANITIZED ? 33 : RANKS_MOST)

/* All trials of one algorithm for one collective with one number of ranks. */
struct unit {
    const struct algorithm *algorithm;
    const struct collective *collective;
    int ranks;
    int row; /* of the coverage that is printed */
};

/* Called for each trial, `number` 0, 1, 2, ...; false: enough. */
typedef bool sweep_visitor(void *context, const struct trial *trial, long number);

struct sweep {
    struct unit unit;
    sweep_visitor *visit;
    void *context;
    struct trial trial; /* as far as it is decided */
    long number;        /* of the next trial */
};

static inline bool is_logarithmic(const struct algorithm *algorithm)
{
    return strstr(algorithm->rounds, "log") != NULL;
}

static inline bool ranks_wanted(const struct algorithm *algorithm, int ranks)
{
    if (ranks <= EVERY_NUMBER)
        return true;
    for (int power = 1; power < FAR_MOST; power *= 2)
        if (ranks >= power - 1 && ranks <= power + 1)
            return is_logarithmic(algorithm) && ranks <= FAR_MOST;
    return false;
}

enum turn {
    TURN_ROOT,
    TURN_CHANNELS,
    TURN_IN_PLACE,
    TURN_COUNT,
    TURN_SMALL,
    TURN_GROUPS,
    TURN_COUNTS,
    TURN_LONG
};

/* 0 .. choices - 1: whose turn it is for the next trial. */
static inline int sweep_turn(const struct sweep *sweep, enum turn what, int choices)
{
    uint64_t x = (uint64_t)sweep->unit.ranks << 40 ^ (uint64_t)sweep->number << 8 ^ (uint64_t)what;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u; /* the mixer of splitmix64 */
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (int)((x ^ x >> 31) % (uint64_t)choices);
}

static inline int sweep_root(const struct sweep *sweep)
{
    int p = sweep->unit.ranks;
    const int roots[] = {0, 1 % p, p / 3, p - 1};

    return sweep->unit.collective->rooted ? roots[sweep_turn(sweep, TURN_ROOT, 4)] : 0;
}

static inline bool sweep_trial(struct sweep *sweep, size_t count, bool in_place, int root,
                               int channels)
{
    static const struct counts_spec specs[] = {
        {.distribution = DISTRIBUTION_SPREAD},
        {.distribution = DISTRIBUTION_ZIPF, .parameter = 2},
        {.distribution = DISTRIBUTION_HOT, .parameter = 1}, /* nothing but rank 0's */
        {.distribution = DISTRIBUTION_UNIFORM},
    };

    sweep->trial.problem.count = count;
    sweep->trial.problem.in_place = in_place;
    sweep->trial.problem.root = root;
    sweep->trial.channels = channels;
    if (sweep->unit.collective->counted)
        sweep->trial.spec = specs[sweep_turn(sweep, TURN_COUNTS, 4)];
    return sweep->visit(sweep->context, &sweep->trial, sweep->number++);
}

/* Does a rank have a block for each rank? Then there is enough data as it is. */
static inline bool has_blocks(const struct unit *unit)
{
    return unit->collective->source.blocks || unit->collective->destination.blocks;
}

static inline size_t counts_of(const struct unit *unit, size_t counts[])
{
    size_t p = (size_t)unit->ranks, n = 0;
    const size_t wanted[] = {0, 1, 3, p + 1, p, p - 1, 2 * p + 3};
    size_t most = p > ALL_OF_ALL && has_blocks(unit) ? 4 : sizeof(wanted) / sizeof(*wanted);

    if (!unit->collective->sized) {
        counts[0] = 1;
        return 1;
    }
    for (size_t i = 0; i < most; i++) {
        bool known = false;

        for (size_t j = 0; j < n; j++)
            known |= counts[j] == wanted[i];
        if (!known)
            counts[n++] = wanted[i];
    }
    return n;
}

/* All counts, in place and not, and all roots; `all`: also each number of channels. */
static inline bool sweep_product(struct sweep *sweep, bool all)
{
    int p = sweep->unit.ranks, roots = sweep->unit.collective->rooted && p <= ALL_OF_ALL ? p : 1;
    size_t counts[8], count = counts_of(&sweep->unit, counts);

    for (size_t i = 0; i < 2 * count * (size_t)roots; i++) {
        int root = roots > 1 ? (int)(i / (2 * count)) : sweep_root(sweep);
        int turn = 1 + sweep_turn(sweep, TURN_CHANNELS, CHANNELS_MOST);

        for (int channels = 1; channels <= CHANNELS_MOST; channels++)
            if ((all || channels == turn) &&
                !sweep_trial(sweep, counts[i / 2 % count], i % 2, root, channels))
                return false;
    }
    return true;
}

/* The count whose turn it is: one that divides badly, or one that is smaller than p. */
static inline size_t sweep_count(const struct sweep *sweep, bool small)
{
    size_t p = (size_t)sweep->unit.ranks;
    int turn = sweep_turn(sweep, TURN_COUNT, 3);
    const size_t of_block[2][3] = {{3, 5, 7}, {1, 2, 1}};
    const size_t of_whole[2][3] = {{p + 1, 2 * p + 3, 2 * p - 1}, {p - 1, 3, p / 2}};

    if (!sweep->unit.collective->sized)
        return 1;
    return has_blocks(&sweep->unit) ? of_block[small][turn] : of_whole[small][turn];
}

/* 4 trials: in place and not, with either kind of count; 2: in place and not; 1. */
static inline bool sweep_sample(struct sweep *sweep, int trials)
{
    bool far = sweep->unit.ranks > EVERY_NUMBER;

    for (int i = 0; i < trials; i++) {
        bool small = far || (trials == 4 ? i / 2 : sweep_turn(sweep, TURN_SMALL, 2));
        bool in_place = trials > 1 ? i % 2 : sweep_turn(sweep, TURN_IN_PLACE, 2);

        if (!sweep_trial(sweep, sweep_count(sweep, small), in_place, sweep_root(sweep),
                         far ? 1 : 1 + sweep_turn(sweep, TURN_CHANNELS, 2)))
            return false;
    }
    return true;
}

/* Blocks just long enough to be cut in units of several elements; with a rest, more units, both. */
static inline bool sweep_long(struct sweep *sweep)
{
    static const size_t over[] = {0, 37, CHANNEL_UNIT, 2 * CHANNEL_UNIT - 1};

    for (int channels = 2; channels <= CHANNELS_MOST; channels++)
        for (int in_place = 0; in_place < 2; in_place++) {
            size_t count = (size_t)channels * CHANNEL_UNIT + over[sweep_turn(sweep, TURN_LONG, 4)];

            if (!sweep_trial(sweep, count, in_place, sweep_root(sweep), channels))
                return false;
        }
    return true;
}

static inline bool sweep_data(struct sweep *sweep, bool standard)
{
    int p = sweep->unit.ranks;

    if (standard && p <= LONG_MOST && sweep->unit.collective->sized && !sweep_long(sweep))
        return false;
    if (sweep->unit.algorithm->grouped)
        return standard && p <= ALL_OF_ALL ? sweep_product(sweep, false)
                                           : sweep_sample(sweep, standard ? 2 : 1);
    if (p <= FULL_PRODUCT)
        return sweep_product(sweep, standard);
    return sweep_sample(sweep, standard && p <= EVERY_NUMBER ? 4 : 1);
}

/* The standard options, then other combinations, which take turns where they are many. */
static inline bool sweep_options(struct sweep *sweep)
{
    int p = sweep->unit.ranks;
    long others = choice_set(&sweep->trial.choice, p, 0) - 1;
    long most = p > EVERY_NUMBER                                     ? 1
                : p > FULL_PRODUCT || sweep->unit.algorithm->grouped ? 3
                                                                     : COMBINATIONS;
    long wanted = others < most ? others : most;

    long start = wanted < others ? wanted * (p + sweep->number) : -1;
    for (long i = 0; i <= wanted; i++) {
        choice_set(&sweep->trial.choice, p, i ? 1 + (start + i) % others : 0);
        if (!sweep_data(sweep, i == 0))
            return false;
    }
    return true;
}

/* Gives the algorithm groups: as its option, where it has that and they stand together, or as the
 * problem's. */
static inline void sweep_group(struct sweep *sweep, const struct shape *shape)
{
    struct choice *choice = &sweep->trial.choice;
    bool has_option = false, together = true;

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && choice->algorithm->options[i].name; i++)
        has_option |= choice->algorithm->options[i].kind == OPTION_GROUPS;
    for (int r = 0; r < shape->ranks; r++)
        together &= shape->members[r] == r;
    choice->group_count = 0;
    sweep->trial.problem.shape = shape;
    if (!has_option || !together || sweep_turn(sweep, TURN_GROUPS, 2))
        return;
    sweep->trial.problem.shape = NULL;
    choice->group_count = shape->groups;
    for (int g = 0; g < shape->groups; g++)
        choice->groups[g] = shape_size(shape, g);
}

static inline bool sweep_shapes(struct sweep *sweep)
{
    int p = sweep->unit.ranks, group[RANKS_MOST];
    bool going = true;

    for (int nth = 0; going && shape_plan(p, nth, group); nth++) {
        if (p > SHAPES_MOST && (nth + p) % 4)
            continue;
        struct shape *shape = shape_create(group, p);
        assert_non_null(shape);
        sweep_group(sweep, shape);
        going = sweep_options(sweep);
        shape_free(shape);
    }
    return going;
}

/* Visits all trials of a unit, or until a visit returns false. */
static inline bool sweep_unit(const struct unit *unit, sweep_visitor *visit, void *context)
{
    struct sweep sweep = {
        .unit = *unit,
        .visit = visit,
        .context = context,
        .trial = {.choice = choice_of(unit->algorithm),
                  .problem = {.collective = unit->collective, .ranks = unit->ranks}},
    };

    return unit->algorithm->grouped ? sweep_shapes(&sweep) : sweep_options(&sweep);
}

#endif
