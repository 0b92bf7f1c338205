/*
 * host_profile.h - a profile of hosts: what each is to have (accept/judge/profile.h), and what its
 * measurements are to reach:
 *
 *     nic.count = 8
 *     nic.rate >= 400 Gb/s
 *     pairs.latency <= 3.5 us
 *     pairs.bandwidth >= 45 GB/s
 *
 * Keys of facts are those of host/facts/rules.h; keys of measurements those of measured_numbers.
 */
#ifndef CCTEST_ACCEPT_HOST_PROFILE_H
#define CCTEST_ACCEPT_HOST_PROFILE_H

#include "accept/judge/profile.h"

/* A number that a stage measures of each host. */
struct measured_number {
    const char *key; /* "pairs.latency" */
    enum value_unit unit;
    bool less_is_better;
};
extern const struct measured_number measured_numbers[]; /* ended by a NULL key */
#define MEASURED_MOST 32

/* The index of a key; -1: no stage measures that. */
int measured_find(const char *key);

struct host_profile {
    struct expected_fact *facts;
    int fact_count;
    double asked[MEASURED_MOST]; /* by measured_numbers, in their units; 0: nothing */
};

/* Reads a profile, for host_profile_free(). STATUS_USAGE, after fail() with file and line: a line, key,
 * unit or operator is wrong, a key is there twice, or the file cannot be read. */
enum status host_profile_read(const char *path, struct host_profile *profile);
void host_profile_free(struct host_profile *profile); /* all zero is allowed */

/* At least, or at most, what a profile asks of a number; 0: nothing. */
double host_profile_asked(const struct host_profile *profile, const char *key);

#endif
