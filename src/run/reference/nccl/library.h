/*
 * library.h - loads NCCL.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_LIBRARY_H
#define CCTEST_RUN_REFERENCE_NCCL_LIBRARY_H

#include "run/reference/nccl/api.h"
#include "run/reference/reference.h"

/* Loads the library for good: it has threads of its own. Returns why it cannot (one clause, written
 * into `why`), or NULL. Initializes nothing of CUDA. */
const char *nccl_load(struct nccl_api *api, int *version, char why[VENDOR_WHY_MOST]);

/* "2.28.3" */
void nccl_version_text(int version, char *text, size_t size);

/* As in vendor.h. */
const char *nccl_unavailable(char why[VENDOR_WHY_MOST]);
void nccl_version(char *text, size_t size);

#endif
