/*
 * port_counters.h - the counters of an RDMA port, read from sysfs, and what they tell.
 */
#ifndef CCTEST_HOST_PORT_COUNTERS_H
#define CCTEST_HOST_PORT_COUNTERS_H

#include "host/counters.h"

/* Adds the counters of the port that is named "mlx5_0:1", and of its NIC. `sysfs`: "/sys". */
void port_counters(const char *sysfs, const char *name, struct counter_list *list);

#endif
