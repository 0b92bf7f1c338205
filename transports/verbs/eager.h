/*
 * eager.h - short messages, each whole in one slot.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_EAGER_H
#define CCTEST_TRANSPORTS_VERBS_EAGER_H

#include "transports/verbs/verbs.h"

/* transport->eager_most and transport->eager_move. */
size_t verbs_eager_most(const struct channel *base);
enum status verbs_eager_move(struct channel *base, const struct transfer *transfer, bool *moved);

#endif
