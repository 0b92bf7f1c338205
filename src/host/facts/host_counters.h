/*
 * host_counters.h - all that a host counts: its NICs, interfaces and GPUs, PCIe, memory, CPUs, and
 * TCP. Read before and after a stage, what grew (device_changes_since) is evidence with a name.
 *
 * COUNTER_SICK is what a healthy host does not count, COUNTER_CONGESTED what a busy network does;
 * the rest is traffic.
 */
#ifndef CCTEST_HOST_FACTS_HOST_COUNTERS_H
#define CCTEST_HOST_FACTS_HOST_COUNTERS_H

#include "host/device_changes.h"
#include "host/facts/source.h"

struct host_counters;
struct inquiry;

/* With the GPUs' meters, which count events from here on. All three functions may block for ever,
 * as drivers may hang: `inquiry`, which must stay, then says which one. NULL: out of memory. */
struct host_counters *host_counters_open(const struct inventory_source *source,
                                         struct inquiry *inquiry);

/* Appends a device for each part that counts, by its PCI address or name ("0000:17:00.0", "mlx5_2",
 * "eth0"), the host itself as "host", and all links of PCIe as "PCIe". Those that
 * do not fit DEVICES_SENT_MOST are left out. */
void host_counters_read(struct host_counters *counters, struct device_changes *now);

void host_counters_close(struct host_counters *counters); /* NULL is allowed */

#endif
