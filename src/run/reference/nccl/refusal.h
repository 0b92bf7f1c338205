/*
 * refusal.h - what no version of NCCL can do, and NCCL's numbers for what it can.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_REFUSAL_H
#define CCTEST_RUN_REFERENCE_NCCL_REFUSAL_H

#include "run/reference/reference.h"

/* NCCL's ncclDataType_t and ncclRedOp_t for a type and an operator; -1: there is none. */
int nccl_type(const struct datatype *datatype);
int nccl_operator(const struct reduction *reduction);

/* The first version that has the type, as ncclGetVersion() counts (22400: 2.24.0). */
int nccl_type_since(const struct datatype *datatype);

const char *nccl_refuses(const struct vendor_task *task,
                         char why[VENDOR_WHY_MOST]); /* reference.h */

#endif
