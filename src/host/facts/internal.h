/*
 * internal.h - for the files of host/facts/ alone.
 */
#ifndef CCTEST_HOST_FACTS_INTERNAL_H
#define CCTEST_HOST_FACTS_INTERNAL_H

#include "host/facts/facts.h"
#include "host/facts/facts.h"

/* ---- The facts of a host's parts that stand on PCI: NICs, network interfaces, GPUs,
 * NVMe drives; and how many there are.
 * ---- */

struct inquiry;

void nic_facts(const struct inventory_source *source, struct inquiry *inquiry,
               struct inventory *inventory);
void interface_facts(const struct inventory_source *source, struct inquiry *inquiry,
                     struct inventory *inventory);
void gpu_facts(const struct inventory_source *source, struct inquiry *inquiry,
               struct inventory *inventory);
void drive_facts(const struct inventory_source *source, struct inquiry *inquiry,
                 struct inventory *inventory);

/* "mlx5_2" for its port 1, "mlx5_2:2" for its second. Returns `part`. */
const char *nic_part(const char *nic, int number, char part[PART_NAME_MOST]);

#endif
