/*
 * nccl_file.h - a node as NCCL writes it (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): CPUs, PCI switches,
 * GPUs, NVLink. Its GPUs are the ends.
 *
 * What links carry follows from NCCL's rules (src/graph/topo.h and xml.cc): PCI, width by speed by
 * its coding; NVLink, what one carries in this generation, by their count; between CPUs, by their
 * maker. 1 is what the widest link of the first GPU carries.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_NCCL_FILE_H
#define CCTEST_PREDICT_TOPOLOGY_NCCL_FILE_H

#include "predict/topology/family.h"

extern const struct topology_family family_nccl;

#endif
