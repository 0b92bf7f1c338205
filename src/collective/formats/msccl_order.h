/*
 * msccl_order.h - steps of MSCCL that touch the same chunk although nothing orders them.
 *
 * MSCCL runs the thread blocks of a GPU side by side, and may run such steps in either order. Here they
 * run in the order of the levels, since the conflict rule orders all that touch the same memory.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_MSCCL_ORDER_H
#define CCTEST_COLLECTIVE_FORMATS_MSCCL_ORDER_H

#include "collective/formats/msccl_reading.h"

struct msccl_order;

/* Of the GPU that is being read. NULL with status STATUS_OK: it has too many steps to be looked at. */
enum status msccl_order_open(struct msccl_reading *reading, struct msccl_order **order);

/* Adds a step, after the one before it in its thread block and the one that it waits for. NULL is
 * allowed, here and below. */
void msccl_order_add(struct msccl_order *order, int index);

/* A step that was added reads or writes these chunks, after those that were told of. The first two
 * steps without an order become the note of the plan. */
void msccl_order_touch(struct msccl_order *order, int index, const struct message *chunks,
                       bool writes);

#endif
