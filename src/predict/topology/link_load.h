/*
 * link_load.h - what an algorithm puts on each link of a topology, step by step, and what that costs.
 *
 * The messages come from schedules, one rank after the other. In step s link l carries B(s, l)
 * bytes, and has the rate c(l), in multiples of an end's. The ends themselves bound the step, too: an
 * end sends O(s, e) bytes and receives I(s, e) bytes, at rate 1 in each direction. So
 *
 *     E(s) = max over e of max(O(s, e), I(s, e))          the step, if only the ends had limits
 *     T(s) = max(E(s), max over l of B(s, l) / c(l))      with the links
 *     congestion factor = sum over s of T(s) / sum over s of E(s)
 *
 * 1 says that no link inside slows the algorithm down. The sums are bounds of the time in bytes: they
 * treat steps as if each began when the one before it has ended, and leave out latency.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_LINK_LOAD_H
#define CCTEST_PREDICT_TOPOLOGY_LINK_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "predict/topology/topology.h"

struct link_load;

#define NO_LINK UINT32_MAX

/* A step. In bytes, and bytes by rate. */
struct step_load {
    double ends;   /* E: of the busiest end */
    double links;  /* of the busiest link: its bytes by its rate */
    uint32_t link; /* that one, the first of equal ones; NO_LINK: no message crosses a link */
};

/* Of a link, over all steps. */
struct loaded_link {
    uint32_t link;
    double bytes;
    double time; /* bytes by rate */
    double peak; /* of the busiest step, bytes by rate */
};

/* `end_of_rank` (of `ranks` ranks) and the topology must live as long. STATUS_ERROR: out of memory. */
enum status link_load_create(const struct topology *topology, const int *end_of_rank, int ranks,
                             struct link_load **made);
void link_load_free(struct link_load *load); /* NULL is allowed */

/* A message of `bytes` bytes between two ranks in a step, from 0. STATUS_USAGE if all steps of all
 * links together take more than LOAD_BYTES_MOST. */
#define LOAD_BYTES_MOST ((size_t)2 << 30)
enum status link_load_add(struct link_load *load, int step, int from, int to, double bytes);

/* When all messages are added; what follows may be asked then. STATUS_ERROR: out of memory. */
enum status link_load_finish(struct link_load *load);

const struct topology *link_load_topology(const struct link_load *load);
int link_load_steps(const struct link_load *load);
struct step_load link_load_step(const struct link_load *load, int step);
double link_load_bytes(const struct link_load *load, int step, uint32_t link);

/* The sums over all steps, of which the congestion factor is the quotient. */
struct load_sums {
    double ends; /* of E(s) */
    double all;  /* of T(s) */
};
struct load_sums link_load_sums(const struct link_load *load);
double link_load_factor(const struct link_load *load); /* 1 without messages */

/* The most loaded links by `time`, the first of equal ones first: at most `most` of those that carry
 * anything. Returns how many. */
int link_load_top(const struct link_load *load, struct loaded_link *top, int most);

#endif
