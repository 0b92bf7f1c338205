/*
 * dragonfly.h - dragonflies: groups of `a` switches, each with `p` hosts, a link to each other switch
 * of its group, and `h` links to other groups. All groups are connected with each other by one link
 * in each direction: link k of a group (of its switch k/h) leads k + 1 groups on. a*h + 1 groups are
 * the most.
 *
 *      group 0            group 1         A minimal way is local, global, local: at most 3 links
 *      o---o---o  ------> o---o---o       between switches. Valiant's goes through a third group,
 *      |\     /|          |\     /|       which a hash of the pair picks: longer, and it spreads
 *      hosts ...          hosts ...       traffic between two groups over all.
 *
 * Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008.
 * Its numbering of global links is the "relative" one of Camarero, Vallejo, Beivide, "Topological
 * characterization of Hamming and dragonfly networks", TACO 2014.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_DRAGONFLY_H
#define CCTEST_PREDICT_TOPOLOGY_DRAGONFLY_H

#include "predict/topology/family.h"

extern const struct topology_family family_dragonfly;

#endif
