/*
 * guidelines.h - what must not be: a collective that is slower than others that do its work.
 *
 * A collective can be emulated by others, or by itself on more data. If the emulation is faster, the
 * collective has no business being slower: a user would write the emulation. These are the
 * self-consistent performance guidelines of J. L. Traff, W. D. Gropp and R. Thakur (Self-Consistent MPI
 * Performance Guidelines, IEEE TPDS 21(5), 2010), and their check on measurements of S. Hunold, A.
 * Carpen-Amarie, F. D. Lubbe and J. L. Traff (Automatic Verification of Self-Consistent MPI Performance
 * Guidelines, Euro-Par 2016).
 *
 * Sizes are cctest's: bytes of the larger buffer of one rank. With these every emulation has the size of
 * what it emulates: allgather's n is what a rank receives, reduce_scatter's n what it gives, a root's
 * gather and scatter move n in all. Sizes that do not divide are rounded up to whole blocks, by a block's
 * element for each rank at most, so sizes that differ by less count as one. An emulation of a larger size
 * does more work, and if it is faster it is so all the more.
 *
 * Pure: no files, no clock.
 */
#ifndef CCTEST_TUNE_GUIDELINES_H
#define CCTEST_TUNE_GUIDELINES_H

#include <stddef.h>

#include "base/status.h"
#include "collective/collective.h"

/* Slower by less than this share is no matter, whatever the intervals say: slow noise, which they do
 * not see, makes them too narrow. */
#define GUIDELINE_MARGIN 0.05

/* A time of one collective, algorithm and size. Texts belong to the caller. */
struct timed_line {
    const struct collective *collective;
    const char *algorithm; /* "bruck:radix=4" */
    const char
        *setting;   /* all else that lines must have in common to be compared: "4 ranks, float" */
    const char *op; /* "": the collective has none */
    int ranks;
    size_t bytes, element; /* the size; bytes of an element */
    double time;           /* us: the median */
    double low, high; /* us: its interval of 95%; of few iterations the least and greatest time; of
                              a predicted one the time itself */
};

enum guideline {
    GUIDELINE_SEQUENCE, /* not slower than one or two collectives that do its work */
    GUIDELINE_SMALLER,  /* not slower than the same on more data */
    GUIDELINE_SPLIT,    /* not slower than several times the same on less */
    GUIDELINE_OWN,      /* as SMALLER, of one algorithm that is not the best */
    GUIDELINES
};
extern const char *const guideline_words[GUIDELINES]; /* for JSON */

/* A collective that may stand for `whole`, or with `second` behind it. */
struct emulation {
    enum collective_id whole, first;
    int second; /* -1: none */
};
extern const struct emulation emulations[]; /* ended by one whose `second` is -2 */
#define EMULATIONS_END (-2)

#define INSTEAD_MOST 2

/* Lines are indices of the list that was compared. */
struct violation {
    enum guideline guideline;
    size_t line;
    size_t best;                  /* of its collective and size; mostly itself */
    size_t instead[INSTEAD_MOST]; /* of OWN: the larger size */
    int instead_count;
    int times;    /* how often `instead` runs: more than 1 if the data is split */
    double bound; /* us: what `instead` takes in all */
    double ratio; /* of the line's time to that */
};

/* Finds the violations that are beyond noise: the line's interval lies above that of what could be run
 * instead, and its time is larger by GUIDELINE_MARGIN. Of each collective and size the best algorithm
 * is judged, by the gravest violation of each guideline; the others only by GUIDELINE_OWN. The gravest
 * comes first. The caller frees *violations. STATUS_ERROR: out of memory. */
enum status guidelines_check(const struct timed_line *lines, size_t count,
                             struct violation **violations, size_t *found);

/* "allreduce 64K, 4 ranks, float sum: 812 us (ring), 1.42 times reduce then broadcast, 571 us: use
 * reduce rabenseifner then broadcast chain". Returns `text`. */
#define VIOLATION_TEXT_MOST 640
const char *violation_text(const struct timed_line *lines, const struct violation *violation,
                           char text[VIOLATION_TEXT_MOST]);

#endif
