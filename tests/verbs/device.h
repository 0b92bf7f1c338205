/*
 * device.h - devices, ports and contexts of the provider, and their events.
 */
#ifndef CCTEST_TEST_VERBS_DEVICE_H
#define CCTEST_TEST_VERBS_DEVICE_H

#include <infiniband/verbs.h>

struct strict_context;
struct strict_device;
struct provider_counts;

void devices_make(void);
void devices_free(void);

/* The host of the calling thread. */
int device_host(void);
/* The context that librdmacm has of the device. */
struct ibv_context *device_context(struct strict_device *device);

/* Appends an event to the context's queue. `element`: a CQ, SRQ or QP; NULL: the device. */
void event_send(struct ibv_context *context, enum ibv_event_type type, void *element);
/* Takes back the events of an object that is destroyed. */
void events_drop(struct ibv_context *context, const void *element);
/* To each context of the device. */
void device_event(struct strict_device *device, int port, enum ibv_event_type type);
void device_port_state(struct strict_device *device, int port, enum ibv_port_state state);

/* Adds what the context has made. */
void context_count(const struct strict_context *context, struct provider_counts *counts);

#endif
