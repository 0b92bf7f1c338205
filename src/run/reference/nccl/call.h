/*
 * call.h - one collective of NCCL, as what a rank runs.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_CALL_H
#define CCTEST_RUN_REFERENCE_NCCL_CALL_H

#include "run/reference/reference.h"

/* As in vendor.h. */
enum status nccl_prepare(struct vendor_session *session, const struct vendor_call *asked,
                         struct execution **execution);

#endif
