/*
 * slurm.h - the network that Slurm's topology.conf describes (topology/tree; switch_tree.h has its
 * form): hosts behind switches, and switches behind switches.
 *
 * The file does not say how many cables lead from a switch to one above it. LinkSpeed= of the one
 * above gives what each of its links carries, in the unit of the slowest LinkSpeed= of a switch that
 * has hosts (without one: 1). Where it has none, the links up of a switch carry together what comes
 * from below it, divided by `oversubscription`.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_SLURM_H
#define CCTEST_PREDICT_TOPOLOGY_SLURM_H

#include "predict/topology/family.h"

extern const struct topology_family family_slurm;

#endif
