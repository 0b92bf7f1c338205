/*
 * diagnosis_text.h - a fault, put into words.
 */
#ifndef CCTEST_RUN_CHECK_DIAGNOSIS_TEXT_H
#define CCTEST_RUN_CHECK_DIAGNOSIS_TEXT_H

#include "base/text.h"
#include "run/check/finding_group.h"

/* What the findings are about. */
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
