/*
 * failure.h - failures of the device, of a queue pair or of a port, as sentences for the user.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_FAILURE_H
#define CCTEST_TRANSPORTS_VERBS_FAILURE_H

#include "transports/verbs/verbs.h"

/* ibv_post_send() returned `error`, an errno, negative for some providers. */
enum status verbs_post_failed(const struct verbs_pair *pair, int error);

/* A call on the rail failed with an errno: "cannot ...". */
enum status verbs_rail_failed(const struct verbs_rail *rail, const char *what, int error);

/* A completion that is not a success; `pair` NULL: of a queue pair that is not known. A flushed
 * request is a consequence: the cause is told by the first error of the queue pair, or by an
 * event. STATUS_OK: nothing to tell yet. */
enum status verbs_completion_failed(struct verbs_rail *rail, struct verbs_pair *pair,
                                    const struct ibv_wc *completion);

/* Reads the asynchronous events of the rail; never blocks. */
enum status verbs_rail_check(struct verbs_rail *rail);

#endif
