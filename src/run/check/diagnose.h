/*
 * diagnose.h - explains a wrong result from the data alone.
 */
#ifndef CCTEST_RUN_CHECK_DIAGNOSE_H
#define CCTEST_RUN_CHECK_DIAGNOSE_H

#include "run/check/finding.h"

/* Fills in the explanations of the finding and what they leave unexplained. `evidence` has at least
 * one wrong sample. */
void diagnose(const struct evidence *evidence, struct finding *finding);

#endif
