/*
 * diagnose.h - explains a wrong result from the data alone.
 */
#ifndef CCTEST_CHECK_DIAGNOSE_H
#define CCTEST_CHECK_DIAGNOSE_H

#include "check/check.h"
#include "check/hypothesis.h"

/* Writes finding->story and finding->ambiguous. `evidence` has at least one wrong sample. */
void diagnose(const struct evidence *evidence, struct finding *finding);

/* One element as people read it: "1.5", "-3", "poison (0xd5d5d5d5)". */
void value_format(const struct datatype *type, const void *value, char *text, size_t size);

#endif
