/*
 * diagnosis_text.h - puts the stories that were found for a wrong result into one sentence.
 */
#ifndef CCTEST_CHECK_DIAGNOSIS_TEXT_H
#define CCTEST_CHECK_DIAGNOSIS_TEXT_H

#include "check/check.h"
#include "check/hypothesis.h"

#define TELLINGS_MOST   16
#define TELLING_STORIES 3
#define TELLING_SOURCES 32

/* What explains one stretch of samples, or several alike. */
struct telling {
    struct story stories[TELLING_STORIES]; /* the simplest */
    size_t count;                          /* all that fit */
    bool chance;                           /* or it is corruption, and they fit by chance */
    bool at_least;                         /* more ranks than those named may share the fault */
    size_t first, last;                    /* destination elements */
    size_t stretches;
    int sources[TELLING_SOURCES]; /* data movement: ranks whose elements should stand there */
    int source_count;
};

struct tellings {
    const struct evidence *evidence;
    struct telling list[TELLINGS_MOST];
    size_t count;
    size_t unexplained[SAMPLES],
        unexplained_count; /* wrong samples, by index, that no story fits */
    size_t
        unlooked; /* wrong samples for which none was looked for: there were too many stretches */
};

/* Adds the stories that explain search->reach samples from `first` on. */
void tellings_add(struct tellings *tellings, const struct search *search, bool chance,
                  size_t first);

/* Writes the sentence, and whether it is ambiguous. */
void tellings_tell(const struct tellings *tellings, struct finding *finding);

#endif
