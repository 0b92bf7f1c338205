/*
 * ethtool.h - what the driver of a network device tells of it: its firmware, and pause frames. Over
 * RoCE, Ethernet's flow control stops senders.
 */
#ifndef CCTEST_HOST_ETHTOOL_H
#define CCTEST_HOST_ETHTOOL_H

#include "host/counters.h"

/* Adds the driver's statistics (those of `ethtool -S`) whose names hold one of `words`, ended by
 * NULL, as COUNTER_CONGESTED. A device that is not in this network namespace, or has none, adds
 * nothing. */
void netdev_counters(const char *netdev, const char *const *words, struct counter_list *list);

/* The version of its firmware; false: the driver tells none. */
bool netdev_firmware(const char *netdev, char *text, size_t size);

/* netdev_counters() for one statistic; `text` has 32 bytes, as the driver gives them: a 0 ends a
 * shorter name. */
void statistic_add(const char *text, uint64_t value, const char *const *words,
                   struct counter_list *list);

/* Pause frames, for all traffic (rx_pause_ctrl_phy) or a priority (tx_prio3_pause), packets that
 * the port dropped for want of buffers, and those that it marked as congested (ECN). */
extern const char *const pause_words[];
void pause_counters(const char *netdev, struct counter_list *list);

#endif
