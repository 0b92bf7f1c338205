/*
 * diagnosis_text.h - puts the stories that were found for a wrong result into one sentence.
 */
#ifndef CCTEST_CHECK_DIAGNOSIS_TEXT_H
#define CCTEST_CHECK_DIAGNOSIS_TEXT_H

#include "check/check.h"
#include "check/hypothesis.h"

#define EXPLANATIONS_MOST      16
#define EXPLANATION_HYPOTHESES 3
#define EXPLANATION_SOURCES    32

/* What explains one stretch of samples, or several alike. */
struct explanation {
    struct hypothesis hypotheses[EXPLANATION_HYPOTHESES]; /* the simplest */
    size_t count;                                         /* all that fit */
    bool chance;        /* or it is corruption, and they fit by chance */
    bool at_least;      /* more ranks than those named may share the fault */
    size_t first, last; /* destination elements */
    size_t stretches;
    int sources[EXPLANATION_SOURCES]; /* data movement: ranks whose elements should stand there */
    int source_count;
};

struct explanations {
    const struct evidence *evidence;
    struct explanation list[EXPLANATIONS_MOST];
    size_t count;
    size_t unexplained[SAMPLES],
        unexplained_count; /* wrong samples, by index, that no story fits */
    size_t
        unlooked; /* wrong samples for which none was looked for: there were too many stretches */
};

/* Adds the stories that explain search->reach samples from `first` on. */
void explanations_add(struct explanations *explanations, const struct hypotheses *hypotheses,
                      bool chance, size_t first);

/* Writes the sentence, and whether it is ambiguous. */
void explanations_text(const struct explanations *explanations, struct finding *finding);

#endif
