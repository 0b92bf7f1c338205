/*
 * test_algorithms_far.c - every algorithm, proved with many ranks (proofs.h), which takes two
 * thirds of the time of all proofs.
 *
 *   test_algorithms_far [WORDS]   only those whose "COLLECTIVE ALGORITHM" contains WORDS
 *
 * tier: night; load: cpu2
 */
#include "tests/unit/proofs.h"

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm),
    };

    proved_from = SHAKEN_MOST + 1;
    proved_to = RANKS_MOST;
    wanted = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
