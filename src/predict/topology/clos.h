/*
 * clos.h - fat trees of two and of three levels of switches.
 *
 *      core          o o   o o          A switch has `radix` ports. Of those of an edge switch `down`
 *                    |X|   |X|          lead to hosts and `up` to switches above; their proportion is
 *      aggregation   o o   o o          the oversubscription. Three levels: radix/2 edge switches and
 *                    |X|   |X|          `up` aggregation switches are a pod, and aggregation switch j
 *      edge, leaf    o o   o o          of each pod meets the others at radix/2 core switches. Two
 *                   /| |\ /| |\         levels: each leaf meets the others at `up` spines.
 *      hosts
 *
 * With radix k and no oversubscription three levels are the k-ary fat tree of Al-Fares, Loukissas and
 * Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008, of k^3/4 hosts.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_CLOS_H
#define CCTEST_PREDICT_TOPOLOGY_CLOS_H

#include "predict/topology/family.h"

extern const struct topology_family family_fat_tree, family_leaf_spine;

#endif
