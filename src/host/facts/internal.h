/*
 * internal.h - for the files of host/facts/ alone.
 */
#ifndef CCTEST_HOST_FACTS_INTERNAL_H
#define CCTEST_HOST_FACTS_INTERNAL_H

#include "host/facts/facts.h"

/* ---- A source of facts that is being read, by a thread with a limit. Its memory may live longer
 * than that limit.
 * ---- */

struct fact_look {
    const struct fact_source *facts;
    struct inventory_source source;
    char sysfs[SYSFS_PATH_MOST / 2]; /* of the source's root */
    struct inquiry inquiry;
    struct inventory inventory;
    int parts; /* so far, of the kind of the source */
};

struct fact_source {
    const char *name;
    enum part_kind kind; /* of the parts that it finds; PART_HOST: the host itself */
    void (*read)(struct fact_look *look);
};

/* Facts of the source's kind, as inventory_add_text() and inventory_add_number() add them. */
void look_text(struct fact_look *look, const char *part, const char *key, const char *text);
void look_number(struct fact_look *look, const char *part, const char *key, double number,
                 double best);

/* CPUs, memory, kernel and limits. */
void cpu_facts(struct fact_look *look);
void memory_facts(struct fact_look *look);
void system_facts(struct fact_look *look);

/* Parts that stand on PCI: NICs, network interfaces, GPUs, NVMe drives. */
void nic_facts(struct fact_look *look);
void interface_facts(struct fact_look *look);
void gpu_facts(struct fact_look *look);
void drive_facts(struct fact_look *look);

/* "mlx5_2" for its port 1, "mlx5_2:2" for its second. Returns `part`. */
const char *nic_part(const char *nic, int number, char part[PART_NAME_MOST]);

#endif
