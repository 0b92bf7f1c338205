/*
 * call.h - one collective of NCCL, as what a rank runs.
 */
#ifndef CCTEST_VENDOR_NCCL_CALL_H
#define CCTEST_VENDOR_NCCL_CALL_H

#include "vendor/vendor.h"

/* As in vendor.h. */
enum status nccl_prepare(struct vendor_session *session, const struct vendor_call *asked,
                         struct execution **execution);

#endif
