/*
 * check.h - compares a result with the contract, and explains what is wrong from the data alone.
 *
 * check_result() compares every element. When some are wrong, it tries simple hypotheses: the
 * contribution of rank 2 is missing, or that of ranks 2..4; rank 5's is stale; a block came from
 * rank 3 instead of 1; elements were never written; bits of one element are flipped. It keeps the
 * hypotheses that account for every wrong element that it looks at. Several that do make the
 * finding ambiguous.
 */
#ifndef CCTEST_RUN_CHECK_CHECK_H
#define CCTEST_RUN_CHECK_CHECK_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/text.h"
#include "collective/collective.h"
#include "dataplane/memory/memory.h"

/* ---- check.c ---- */

struct pattern {
    struct problem problem;
    struct inputs inputs; /* of as many ranks; reduction: NULL unless the collective reduces */
};

/* The expectation for element `at` of `rank`'s destination; false: that ends before it. */
bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation);

/* Destination elements [first, first + count) of `rank`, as the contract has them. */
void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to);

/* The byte in destinations, scratch and canaries before a run: no input has it often. */
#define PATTERN_POISON 0xD5

/* Bytes of the longest element as text: a pair of a double and its index. */
#define PATTERN_TEXT_MOST 56

/* One element as people read it: "1.5", "-3", "poison (0xd5d5d5d5)". */
void pattern_format(const struct datatype *type, const void *value, char *text, size_t size);

/* ---- The sets of ranks that a hypothesis is about: the partial result of such a set may
 * travel as one message.
 * ---- */

enum set_shape {
    SET_INTERVAL, /* `length` ranks from `first` on, cyclically: rings, trees, near halves first */
    SET_CLASS,    /* ranks that leave `first` when divided by `modulus`: far halves first */
    SET_FOLDED,   /* the same of ranks' places after folding them in pairs to a power of two */
};

struct rank_set {
    enum set_shape shape;
    int first, length, modulus;
    bool inverted; /* all ranks but these */
};

/* ---- What may have happened to a result, and what it predicts.
 *
 * A hypothesis predicts what each sample would hold. It explains a wrong sample if it
 * predicts the very bytes that are there. It is contradicted by a right sample for which it
 * predicts other bytes.
 * ---- */

enum hypothesis_kind {
    HYPOTHESIS_UNWRITTEN, /* the element was never written (but divided, if the operator divides) */
    HYPOTHESIS_MISSING,   /* the contributions of `set` are missing */
    HYPOTHESIS_DOUBLED,   /* they entered twice */
    HYPOTHESIS_STALE,     /* they are of the iteration before (data movement: the element is) */
    HYPOTHESIS_POISONED,  /* unwritten memory was combined instead of them */
    HYPOTHESIS_ELSEWHERE, /* rank `source`'s element `from` + shift stands there */
};

struct hypothesis {
    enum hypothesis_kind kind;
    struct rank_set set; /* reductions */
    int source;  /* HYPOTHESIS_ELSEWHERE: the rank of the element; EVERY_RANK for reductions */
    int instead; /* HYPOTHESIS_ELSEWHERE: the rank of the elements that belong there */
    int64_t shift;
    bool before; /* HYPOTHESIS_ELSEWHERE: of the iteration before */
};

/* ---- Wrong elements by which the place of a fault is found.
 *
 * An element that one rank has wrong may be right on another, and both are evidence. So a rank
 * keeps its wrong elements in an order that is the same on every rank: one that is not among them,
 * and comes before the last of them, is right.
 * ---- */

#define EVIDENCE_MOST       8 /* wrong elements of an iteration */
#define EVIDENCE_ITERATIONS 4 /* that are kept; more are counted */

struct wrong_element {
    uint64_t at; /* destination element */
    int source;  /* the rank of the element that belongs there; EVERY_RANK: all, combined */
    unsigned char expected[DATATYPE_SIZE_MOST], got[DATATYPE_SIZE_MOST];
};

/* Evidence about one iteration. */
struct iteration_evidence {
    uint64_t iteration;
    int root;
    bool complete; /* these are all wrong elements of the rank */
    bool spread;   /* their order is a random one; else they ascend */
    int count;
    struct wrong_element of[EVIDENCE_MOST];
};

/* A rank's evidence about its first iterations with a wrong result. */
struct evidence_log {
    uint64_t iterations;
    struct iteration_evidence of[EVIDENCE_ITERATIONS]; /* ascending */
    bool source_changed; /* in some iteration, as far as that is checked */
};

void evidence_log_add(struct evidence_log *log, const struct iteration_evidence *evidence);

/* Encodes or decodes it; as finding_code(). */
void evidence_log_code(struct codec codec, int ranks, struct evidence_log *log);

enum evidence_answer {
    EVIDENCE_SILENT, /* it is not known what the rank has there */
    EVIDENCE_RIGHT,  /* what belongs there */
    EVIDENCE_WRONG,
};

/* The log's answer for destination element `at` in that iteration. *element: if it is wrong. */
enum evidence_answer evidence_log_ask(const struct evidence_log *log, uint64_t iteration,
                                      uint64_t at, const struct wrong_element **element);

/* ---- The facts about a wrong result of one rank. Rank 0 groups the findings of all ranks
 * and puts them into words.
 * ---- */

#define FINDING_EXPLANATIONS 3 /* kept, as are hypotheses and elements; more are counted */
#define FINDING_HYPOTHESES   3
#define FINDING_ELEMENTS     3
#define FINDING_SOURCES      32

/* The explanation of one stretch of samples, or of several alike. */
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
    struct iteration_evidence
        evidence; /* which travels in the log of its rank, and not with the finding */
};

/* Explanations that are kept. */
int finding_explanations(const struct finding *finding);
/* Elements that no hypothesis fits, and that are kept. */
int finding_elements(const struct finding *finding);

/* Are its unexplained elements corrupted one by one, rather than by a fault that is not known? */
bool finding_is_corruption(const struct finding *finding);

/* Are there wrong elements of which no hypothesis explains any? */
bool finding_is_unexplained(const struct finding *finding);

/* Encodes or decodes it. The reader is bad if it is no finding of a job of so many ranks; then
 * `finding` is not to be used. */
void finding_code(struct codec codec, int ranks, struct finding *finding);

/* Compares `rank`'s destination, which lies in this memory. finding->kind is FINDING_NONE when all
 * is right, or when the job has ended meanwhile. The hop of the finding is the caller's to add. */
enum status check_result(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *destination, struct finding *finding);

/* Source elements [first, first + count) must still be the input. *changed: how many are not. */
enum status check_source(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *source, size_t first, size_t count, size_t *changed);

/* ---- Where one altered or lost value explains what the ranks have. ---- */

enum place_kind {
    PLACE_MESSAGE, /* the link that carried it, or the memory of its two ends */
    PLACE_RANK,    /* its own work on the value, or its memory */
};

enum place_work {
    WORK_CONTRIBUTE, /* the value was its own */
    WORK_COPY,
    WORK_COMBINE,
    WORK_FINISH, /* the operator's last step */
    WORK_HOLD,   /* between two uses, or as its result; or several of these */
    WORK_SHARE,  /* it has a part in each element, and no work or message of it explains all */
};

struct place {
    enum place_kind kind;
    enum place_work work; /* PLACE_RANK */
    int rank, from;       /* PLACE_MESSAGE: the receiver and the sender; else `from` is `rank` */
    int step;             /* -1: none, or not the same for all elements */
    bool flips;           /* one flipped bit does it */
};

#define PLACES_MOST 32 /* that are kept; more are counted */

struct place_list {
    bool searched;           /* false: it is not known */
    bool lost;               /* a message that did not arrive; else a value that was altered */
    int elements, explained; /* that were followed; of which one place explains each */
    int count;               /* places that explain all of these; 0: none does */
    int flipping;            /* of these, and they come first */
    struct place of[PLACES_MOST];
};

/* A fault of the data whose places were searched for. */
struct traced_fault {
    int *ranks; /* of the job, that have wrong data of it */
    int rank_count;
    struct place_list places; /* which name ranks likewise */
};

/* ---- Groups the findings of all ranks by the fault that they show.
 *
 * One fault makes many ranks wrong: a wrong block is passed on, or each receiver lacks another
 * block of one sender. Two findings show one fault if they have the same explanation: the same kind
 * about the same ranks, whatever elements and values they show. Data that did not arrive, or is
 * stale, is one fault where the findings have a sender in common.
 * ---- */

struct finding_group {
    const struct finding *finding; /* of the first rank that shows the fault */
    int rank;                      /* that rank */
    const int *ranks;              /* all ranks that show it, ascending */
    int count;
    uint64_t wrong;    /* elements, over all of them */
    bool alike;        /* all have the same range of elements, and the same values */
    bool together;     /* all in the same iteration */
    bool same_senders; /* all lack data of the same senders */
};

struct finding_groups {
    struct finding_group *list; /* by their first rank */
    int count;
    int *ranks; /* what the groups point to */
};

/* The fault as this rank alone shows it. */
struct finding_group finding_group_of_rank(const struct finding *finding, const int *rank);

/* `findings[r]`: of rank r; they must last longer than the groups, which finding_groups_free()
 * gives back. `joined`: those that no hypothesis explains are known to show one fault. */
void finding_groups_make(const struct finding *const *findings, int ranks, bool joined,
                         struct finding_groups *groups);
void finding_groups_free(struct finding_groups *groups);

/* ---- A fault, put into words. ---- */

/* The collective and the ranks that the findings are about. */
struct diagnosis_context {
    const struct collective *collective;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL unless the collective reduces */
    int ranks;
    const int *members; /* how each is called: a rank of the job; NULL: as here */
};

enum diagnosis_detail {
    DETAIL_COUNT,       /* what is wrong, and where */
    DETAIL_EXPLANATION, /* also how it came about */
    DETAIL_SUSPECTS,    /* also which rank or link that makes suspect */
};

void diagnosis_text(struct text *text, const struct finding_group *group,
                    const struct diagnosis_context *context, enum diagnosis_detail detail);

#endif
