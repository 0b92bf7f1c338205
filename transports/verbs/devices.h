/*
 * devices.h - the hooks of the transport that tell of its NICs: their facts and their counters.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_DEVICES_H
#define CCTEST_TRANSPORTS_VERBS_DEVICES_H

#include "host/device.h"
#include "host/meter.h"

struct endpoint;

void verbs_devices(struct device_list *list);
void verbs_endpoint_devices(const struct endpoint *endpoint, struct device_list *list);
struct meter *verbs_device_meter(const char *device);
uint64_t verbs_device_sent(const struct endpoint *base, const char *device);

#endif
