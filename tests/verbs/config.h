/*
 * config.h - the settings of the provider (provider.h lists them) as VERBS_STRICT gives them.
 */
#ifndef CCTEST_TEST_VERBS_CONFIG_H
#define CCTEST_TEST_VERBS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum iwarp { IWARP_NO, IWARP_BY_CM, IWARP_BY_EXCHANGE };

#define FAULTS_MOST 16

struct fault {
    int kind; /* fault.h */
    uint64_t at;
};

enum excess { EXCESS_REFUSED, EXCESS_SILENT, EXCESS_LESS };

struct provider_config {
    long seed, order, overlap, iwarp;
    long hosts, devices, ports, subnets, roce, mtu, down;
    long delay, hold; /* us */
    long sges, inline_most, excess, sends, receives, srqs, entries;
    long stall, destroy; /* ms */
    long memlock;        /* KiB */
    long patience;       /* ms */
    long rnr_fails, dmabuf, peermem, flush, recheck, aborts, report;
    long told, late; /* late in us */
    long sl, tclass;
    struct fault faults[FAULTS_MOST];
    int fault_count;
};

/* Ends the process with a sentence if the text is not well formed. */
void config_parse(struct provider_config *config, const char *text);

#endif
