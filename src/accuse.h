/*
 * accuse.h - rank 0's view of a line: what each rank saw, and who is to blame for its time.
 */
#ifndef CCTEST_ACCUSE_H
#define CCTEST_ACCUSE_H

#include "ledger.h"

/* Fills in result->culprit, accusation and samples. `tallies`: a struct tally_wire of each rank;
 * `duration`: p50 of an iteration, `time`: of all of them together, ns. */
enum status accuse(struct result *result, const struct member *members, const struct blobs *tallies,
                   uint64_t duration, uint64_t time);
void accuse_free(struct result *result);

#endif
