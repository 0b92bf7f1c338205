/*
 * post.h - requests of send queues.
 */
#ifndef CCTEST_TEST_VERBS_POST_H
#define CCTEST_TEST_VERBS_POST_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct strict_qp;
struct strict_request;

/* The ibv_post_send() of a context. */
int queue_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* A completion was polled that tells of the first `count` requests. */
void requests_free(struct strict_qp *pair, uint64_t count);

/* Lets go of the request's memory regions. */
void request_release(struct strict_request *request);
void request_free(struct strict_request *request);

#endif
