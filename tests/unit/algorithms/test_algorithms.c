/*
 * test_algorithms.c - every algorithm, proved with up to as many ranks as are shaken (proofs.h).
 * test_algorithms_far.c: with more.
 *
 *   test_algorithms [WORDS]   only those whose "COLLECTIVE ALGORITHM" contains WORDS
 *
 * tier: check; load: cpu2
 */
#include "tests/unit/proofs.h"

/* The algorithms that sweep.h proves with hundreds of ranks too, since rounds are logarithmic, if
 * only in part. It reads that from the words of algorithm->rounds, which must not drop one. */
static const char *const logarithmic[] = {
    "binary",
    "binary-tree",
    "binomial",
    "binomial-near",
    "bruck",
    "bruck-zero",
    "butterfly",
    "circulant",
    "circulant-pipe",
    "circulant-rsg",
    "dbt",
    "dissemination",
    "gather-bcast",
    "in-order-binary",
    "knomial",
    "nb",
    "nhr",
    "padded-bruck",
    "pat",
    "rabenseifner",
    "rec-doubling",
    "rec-halving",
    "recexch",
    "recursive-doubling",
    "rhd",
    "rhd-far",
    "ring-gather",
    "sag-knomial",
    "scatter-circulant",
    "scatter-rd",
    "scatter-ring",
    "split-binary",
    "sra-knomial",
    "srg-knomial",
    "swing",
    "swing-lat",
    "tree",
};

static void logarithmic_as_listed(void **state)
{
    size_t count = sizeof(logarithmic) / sizeof(*logarithmic);
    bool found[sizeof(logarithmic) / sizeof(*logarithmic)] = {false};

    (void)state;
    for (int i = 0; algorithms[i]; i++) {
        size_t name = 0;

        while (name < count && strcmp(logarithmic[name], algorithms[i]->name) != 0)
            name++;
        if (is_logarithmic(algorithms[i]) != (name < count))
            fail_msg("%s, rounds \"%s\": logarithmic, or listed as that, but not both",
                     algorithms[i]->name, algorithms[i]->rounds);
        if (name < count)
            found[name] = true;
    }
    for (size_t name = 0; name < count; name++)
        if (!found[name])
            fail_msg("%s is no algorithm", logarithmic[name]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithmic_as_listed),
        cmocka_unit_test(every_algorithm),
    };

    proved_from = 1;
    proved_to = SHAKEN_MOST;
    wanted = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
