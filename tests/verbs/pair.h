/*
 * pair.h - queue pairs: their life, and which other they talk to.
 */
#ifndef CCTEST_TEST_VERBS_PAIR_H
#define CCTEST_TEST_VERBS_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct strict_qp;

struct strict_qp *pair_find(uint32_t number);
/* The other end, if it can be reached and answers; else NULL. */
struct strict_qp *pair_peer(const struct strict_qp *pair);
/* iWARP: a connection brings the queue pair to RTS. accepts: it did not ask for it. */
void pair_establish(uint32_t number, const struct ibv_qp_attr *attr, bool accepts);

#endif
