/*
 * placement.h - which rank sits where: block, cyclic, random:SEED, or a file.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_PLACEMENT_H
#define CCTEST_PREDICT_TOPOLOGY_PLACEMENT_H

#include "base/status.h"
#include "predict/topology/topology.h"

/*
 * Writes the end of each of `ranks` ranks, no two of which share one.
 *
 *     block        rank r at end r: a host is filled before the next
 *     cyclic       one rank to each host in turn, as many hosts as block placement uses
 *     random:SEED  all ends of the topology in random order, of which the first `ranks` are taken
 *     FILE         a line for each rank, in their order: an end's number, or a host's name (its
 *                  first end that is free); '#' begins a comment
 *
 * `spec` NULL: block. STATUS_USAGE if the topology has fewer ends than ranks, or the specification or
 * the file (with its line) is wrong.
 */
enum status placement_make(const struct topology *topology, const char *spec, int ranks,
                           int *end_of_rank);

#endif
