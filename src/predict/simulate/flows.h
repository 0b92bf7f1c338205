/*
 * flows.h - flows through shared resources, each at its max-min fair rate.
 *
 * A rate is max-min fair if no flow can have more without taking from one that has no more than it.
 * Progressive filling finds it: all rates rise together, and those through a resource stop when that
 * is full (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 *
 * flows_settle() computes rates anew, once for all changes of one moment, and only of flows that the
 * changes may concern.
 */
#ifndef CCTEST_PREDICT_SIMULATE_FLOWS_H
#define CCTEST_PREDICT_SIMULATE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flows;

/* Of resources with these capacities (bytes per us), which are copied; a flow has at most `hops` of
 * them. NULL: out of memory. */
struct flows *flows_create(const double *capacities, uint32_t resources, uint32_t hops);
void flows_free(struct flows *flows); /* NULL is allowed */

/* A flow of `bytes` begins at `now` (us), through `count` resources, each named once; alone it would
 * have the rate `most` (bytes per us). `tag` is the caller's. False: out of memory. */
bool flows_start(struct flows *flows, double now, double bytes, double most,
                 const uint32_t *resources, uint32_t count, uint32_t tag);

/* Gives all flows their rates, after the changes at `now`. */
void flows_settle(struct flows *flows, double now);

/* When the next flow ends (us), after flows_settle(); infinity: there is none. */
double flows_next(const struct flows *flows);

/* Removes the flow that ends next; returns its tag. */
uint32_t flows_end(struct flows *flows);

#endif
