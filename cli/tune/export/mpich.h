/*
 * mpich.h - the winners as MPICH's JSON of selections.
 */
#ifndef CCTEST_CLI_TUNE_EXPORT_MPICH_H
#define CCTEST_CLI_TUNE_EXPORT_MPICH_H

#include <jansson.h>

#include "collective/schedule/tuned.h"

/* The document that MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE names. Says what MPICH lacks. NULL: out of
 * memory. */
json_t *mpich_json(const struct tuned *tuned);

#endif
