/*
 * suspicion.h - what in a fleet is to be measured again: hosts in a series, and links from one host
 * to another in a series.
 *
 * A cell is a suspect if its level is beyond its limit. A link is one if its reading is beyond its
 * limit, and neither end is a suspect there, which would explain it. Where a quarter of a cell's
 * links are suspects, and two at least, the cell is one too: a host that is slow now and then has a
 * good level.
 *
 * What fails may be slow as well: these are two suspects, of which each has its own evidence.
 *
 * Noise does not make a pair fail, so one failure is enough. With two partners or more, it is the
 * host's that has failures with the most; else it may be either host's or the link's, and all three
 * are suspects.
 */
#ifndef CCTEST_ACCEPT_JUDGE_SUSPICION_H
#define CCTEST_ACCEPT_JUDGE_SUSPICION_H

#include "accept/judge/limits.h"

#define WITNESSES_MOST 6 /* the first are kept */

enum suspect_state {
    SUSPECT_OPEN,
    SUSPECT_CONFIRMED, /* it was seen again, with good partners */
    SUSPECT_CLEARED,   /* it was not */
};

/* A reading that confirms. */
struct witness {
    int partner;
    enum reading_outcome outcome;
    double value;
};

struct suspect {
    int host, peer; /* the link from host to peer; peer -1: the host itself */
    int series;     /* of the host; of a link, that of its sender */
    enum suspect_state state;
    struct excess_limit limit;    /* what a reading must exceed to confirm */
    double excess;                /* as the pairs showed it: the level, or the reading */
    enum reading_outcome outcome; /* the gravest; READING_VALUE: slow */
    int patience;                 /* so many good readings clear it, if there is no bad one */
    int tries_most;               /* so many readings clear it, if they do not confirm it */
    int tries, hits;              /* readings since, and those beyond the limit */
    int witness_count;
    struct witness witnesses[WITNESSES_MOST];
    int next; /* the host's next suspect, -1; of a link: its sender's */
};

struct suspicion {
    const struct fleet *fleet;
    const struct limits *limits;
    struct suspect *of;
    int count, room;
    int slow;   /* suspects by slowness */
    int *first; /* [hosts] its first suspect, -1 */
};

/* From the readings that the fleet was made from. NULL: out of memory. */
struct suspicion *suspicion_create(const struct fleet *fleet, const struct limits *limits,
                                   const struct reading *readings, size_t count);
void suspicion_free(struct suspicion *suspicion); /* NULL is allowed */

/* Is it one by failures? */
bool suspect_is_failing(const struct suspect *suspect);

/* Both ends of a failed reading and the link between them become suspects. False: out of memory. */
bool suspicion_add_failure(struct suspicion *suspicion, const struct reading *reading);

/* Has the host a suspect, itself and no link, that was not cleared? */
bool suspicion_covers_host(const struct suspicion *suspicion, int host);

/* Keeps a reading of a suspect with a partner as a witness. */
void suspect_witness(struct suspect *suspect, int partner, const struct reading *reading);

#endif
