/*
 * queue.h - completion queues, and queues of receives.
 */
#ifndef CCTEST_TEST_VERBS_QUEUE_H
#define CCTEST_TEST_VERBS_QUEUE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct receive_queue;
struct strict_completion;
struct strict_qp;
struct strict_receive;

/* The ibv_poll_cq() of a context, and so on. */
int queue_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc);
int queue_notify(struct ibv_cq *cq, int solicited);
int queue_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int queue_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

void receive_queue_make(struct receive_queue *queue, uint32_t depth, uint32_t sge_most);
void receive_queue_free(struct receive_queue *queue);
/* The receive that comes next, or NULL. It is taken. */
struct strict_receive *receive_take(struct receive_queue *queue);

/* Appends a completion to the queue pair's send or receive queue. `frees`: requests of the send
 * queue that are complete with it (0: a receive). A flush that finds no room is dropped. */
struct strict_completion *completion_make(struct strict_qp *pair, const struct ibv_wc *wc,
                                          uint64_t frees);
/* Takes away what a queue pair that is destroyed has in its completion queues. */
void completions_drop(struct strict_qp *pair);

#endif
