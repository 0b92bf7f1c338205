/*
 * hwloc_file.h - a node as hwloc writes it (lstopo --of xml): cores below
 * caches, dies, packages and the machine. Its cores are the ends, or what `places` says.
 *
 * hwloc does not know what the links inside a processor carry. So each link up carries together what
 * all ends below it send, unless `cache`, `die` or `package` say less: the rate of the links above
 * third-level caches, dies and packages.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_HWLOC_FILE_H
#define CCTEST_PREDICT_TOPOLOGY_HWLOC_FILE_H

#include "predict/topology/family.h"

extern const struct topology_family family_hwloc;

#endif
