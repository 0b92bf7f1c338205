/*
 * finding.h - the facts about a wrong result of one rank. Rank 0 groups the findings of all ranks
 * (finding_group.h) and puts them into words (diagnosis_text.h).
 */
#ifndef CCTEST_RUN_CHECK_FINDING_H
#define CCTEST_RUN_CHECK_FINDING_H

#include "base/bytes.h"
#include "run/check/hypothesis.h"

#define FINDING_EXPLANATIONS 3 /* kept, as are hypotheses and elements; more are counted */
#define FINDING_HYPOTHESES   3
#define FINDING_ELEMENTS     3
#define FINDING_SOURCES      32

/* What explains one stretch of samples, or several alike. */
struct explanation {
    struct hypothesis hypotheses[FINDING_HYPOTHESES]; /* the simplest first */
    uint64_t fitting;                                 /* how many fit */
    bool chance;          /* they may fit by chance: it can be corruption */
    bool at_least;        /* more ranks than the hypothesis names may share the fault */
    uint64_t first, last; /* destination elements */
    uint64_t stretches;
    int sources[FINDING_SOURCES]; /* data movement: ranks whose elements belong there, ascending */
    int source_count;
};

struct wrong_element {
    uint64_t at; /* destination element */
    int source;  /* the rank of the element that belongs there; EVERY_RANK: all, combined */
    unsigned char expected[DATATYPE_SIZE_MOST], got[DATATYPE_SIZE_MOST];
};

enum finding_kind {
    FINDING_NONE,
    FINDING_RESULT,  /* wrong elements in the destination */
    FINDING_SOURCE,  /* the source was overwritten */
    FINDING_OVERRUN, /* memory beside a buffer was overwritten */
};

/* Damage to the canaries of a buffer. */
struct overrun {
    enum buffer buffer;
    uint64_t bytes;
    int64_t first; /* offset of the first damaged byte in the buffer: negative, or behind its end */
};

/* Were wrong elements explained? */
enum diagnosis_state {
    DIAGNOSIS_MADE,
    DIAGNOSIS_WITHOUT_MEMORY, /* there was too little for it */
    DIAGNOSIS_OVERTAKEN, /* the destination changed while it was checked: something still writes */
};

/* The first checked iteration in which a rank found something wrong. Zeroed: nothing is wrong. */
struct finding {
    enum finding_kind kind;
    uint64_t iteration;
    uint64_t wrong;         /* elements */
    struct overrun overrun; /* FINDING_OVERRUN; what follows is for FINDING_RESULT */
    int root;
    int hop_peer,
        hop_step; /* where the first wrong element came from; -1: not known, or from here */
    struct wrong_element first;
    enum diagnosis_state diagnosis; /* unless it was made, there are no explanations */
    int explanation_count;
    struct explanation explanations[FINDING_EXPLANATIONS];
    /* Wrong samples that no hypothesis fits: how many, in how many of them one bit is flipped, the
     * first ones; and how many were not looked at. */
    uint64_t unexplained, single_bits;
    struct wrong_element elements[FINDING_ELEMENTS];
    uint64_t unlooked;
};

/* Explanations that are kept. */
int finding_explanations(const struct finding *finding);
/* Elements that no hypothesis fits, and that are kept. */
int finding_elements(const struct finding *finding);

/* Are its unexplained elements corrupted one by one, rather than by a fault that is not known? */
bool finding_is_corruption(const struct finding *finding);

void finding_encode(const struct finding *finding, struct bytes *bytes);
/* False if it is no finding of a job of so many ranks; then `finding` is not to be used. */
bool finding_decode(struct reader *reader, int ranks, struct finding *finding);

#endif
