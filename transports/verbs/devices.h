/*
 * devices.h - the hooks of the transport that tell of its NICs: their facts and their counters.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_DEVICES_H
#define CCTEST_TRANSPORTS_VERBS_DEVICES_H

#include "device/counters.h"
#include "device/device.h"

struct endpoint;

void verbs_devices(struct device_list *list);
void verbs_endpoint_devices(const struct endpoint *endpoint, struct device_list *list);
void verbs_device_counters(const char *device, struct counter_list *list);
uint64_t verbs_device_sent(const struct endpoint *base, const char *device);

#endif
