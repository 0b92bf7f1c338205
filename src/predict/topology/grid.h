/*
 * grid.h - tori, meshes and rings: hosts in up to six dimensions, each with a link to its neighbour
 * on both sides of each dimension. A torus is closed in each dimension, a mesh is not; a ring is a
 * torus of one.
 *
 * Messages go along the last dimension first, then along the one before it (dimension order: it keeps
 * wormhole networks free of deadlock; Dally, Seitz, 1987), the shorter way round. Half way round, a
 * host whose coordinate is even goes up, and others go down.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_GRID_H
#define CCTEST_PREDICT_TOPOLOGY_GRID_H

#include "predict/topology/family.h"

extern const struct topology_family family_torus, family_mesh, family_ring;

#endif
