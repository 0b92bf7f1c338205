/*
 * pmix.h - PMIx, whose library is loaded at run time, so that the binary starts on hosts without.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_PMIX_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_PMIX_H

#include "controlplane/bootstrap/process_manager.h"

/* Does the environment name a PMIx server, if only in part? Loads nothing. */
bool pmix_offered(void);

/* Loads the library and connects to the server, within `seconds`. On failure `why` is a clause for
 * the caller's sentence, and nothing is recorded, since there may be other bootstraps:
 * STATUS_USAGE: no server answers; STATUS_ERROR: no memory or no thread; STATUS_UNAVAILABLE: no
 * library, or built without PMIx; STATUS_INTERRUPTED: a signal came; STATUS_TIMEOUT: a call is
 * still running in its thread. The last two are final. */
enum status pmix_open(double seconds, struct process_manager **manager, char *why, size_t size);

/* Writes the library's version; false: writes why there is none, and what to do. */
bool pmix_library(char *text, size_t size);

#endif
