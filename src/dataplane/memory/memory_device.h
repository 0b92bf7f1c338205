/*
 * memory_device.h - the device that a rank's memory lies on, and the user's choice among several.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_MEMORY_DEVICE_H
#define CCTEST_DATAPLANE_MEMORY_MEMORY_DEVICE_H

#include <stdbool.h>

#include "base/bytes.h"

#define MEMORY_DEVICE_TEXT 48

/* A device as one rank sees it. Processes of a host may count its devices in different ways. */
struct memory_device {
    int number;      /* as this process counts them; -1: memory of the host */
    char bus[16];    /* PCI address as the kernel writes it, "0000:3b:00.0"; "": unknown */
    char uuid[40];   /* tells it from other devices, and from other parts of one; "": unknown */
    char name[64];   /* of its model */
    char domain[48]; /* of its NVLinks, with the clique: devices of other hosts with the same one
                        can reach its memory; "": it is in none, or not known */
};

void memory_device_encode(const struct memory_device *device, struct bytes *share);
bool memory_device_decode(struct memory_device *device, struct reader *reader); /* false: invalid */

/* "GPU 0 (0000:3b:00.0)". Returns `text`. */
const char *memory_device_text(const struct memory_device *device, char text[MEMORY_DEVICE_TEXT]);

/* Negative, 0 or positive: an order of the devices of a host, in which 0 means the same one. */
int memory_device_compare(const struct memory_device *a, const struct memory_device *b);

/* Identifies it among the devices of a host (memory_pool.which); never 0. */
uint64_t memory_device_identity(const struct memory_device *device);

/* One entry of a list of devices, "1,0" or "0000:3b:00.0". */
struct device_choice {
    int number;   /* -1: the one at the PCI address */
    char bus[16]; /* "" with a number */
};

int device_choices(const char *list); /* the number of entries; 0: one of them is invalid */
/* Entry `index` of the list, modulo its length. False: an entry of the list is invalid. */
bool device_choice_at(const char *list, int index, struct device_choice *choice);
int device_choice_distinct(const char *list); /* how many entries differ from those before */

#endif
