/*
 * root_cause.h - which rank or link is the root of the wait-for graph, in words.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_ROOT_CAUSE_H
#define CCTEST_CONTROLPLANE_VERDICT_ROOT_CAUSE_H

#include "controlplane/verdict/wait_graph.h"

/* Is a rank silent? Both are false for a graph without memory. */
bool graph_has_silent(const struct wait_graph *graph);

/* Does a rank that waits for none keep others waiting? */
bool graph_has_busy(const struct wait_graph *graph);

/* The verdict from the graph alone: its root in the headline, then what each rank waits in. */
void graph_explain(struct wait_graph *graph, const struct situation *situation,
                   struct verdict *verdict);

#endif
