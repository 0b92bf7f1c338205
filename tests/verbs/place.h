/*
 * place.h - puts the bytes of a message where they belong.
 */
#ifndef CCTEST_TEST_VERBS_PLACE_H
#define CCTEST_TEST_VERBS_PLACE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct strict_qp;
struct strict_request;

/* Decides on pieces and their order. */
void place_begin(struct strict_request *request, uint64_t mtu, bool ordered);
/* Moves the next piece to `to` plus its place. `pair`: the sender. */
void place_piece(struct strict_qp *pair, struct strict_request *request, char *to, bool ordered);
/* Moves all to the entries, which are long enough. */
void place_scatter(struct strict_qp *pair, struct strict_request *request,
                   const struct ibv_sge *sges, int count);
/* The other way: a READ. */
void place_gather(struct strict_qp *pair, struct strict_request *request, const char *from);
/* Copies the source to `to`. */
void place_snapshot(struct strict_qp *pair, struct strict_request *request, char *to);
/* In the name of the queue pair's data: what it did so far is known at `at`. */
void place_release(struct strict_qp *pair, void *at);

#endif
