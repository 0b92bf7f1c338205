/*
 * stage.h - what the stages of an acceptance run have in common.
 */
#ifndef CCTEST_ACCEPT_STAGE_H
#define CCTEST_ACCEPT_STAGE_H

#include "accept/acceptance.h"
#include "accept/judge/sickness_text.h"

extern const char *const stage_state_names[]; /* "done", "partly", "left-out" */

/* A stage is not whole, or left out; why, as a clause, which comes behind those that are there. */
void stage_lacks(struct stage_result *result, enum stage_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Its result in one line. */
void stage_says(struct stage_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Seconds of the present stage's time that are left; not below 0. */
double stage_left(const struct acceptance *acceptance);

/* A round of the present stage begins, counted from 1. */
void stage_round(struct acceptance *acceptance, int round, int rounds);

/* The hosts that are left: not lost. `hosts` has room for all; returns how many. */
int hosts_left(const struct acceptance *acceptance, int *hosts);
/* Those of them that are good so far. */
int hosts_good(const struct acceptance *acceptance, int *hosts);

/* Is it known why measurements with this host fail or are slow: is it lost, or does it lose packets? */
bool host_is_explained(const struct acceptance *acceptance, int host);
/* Those that are not, by host; how many. */
int hosts_pairable(const struct acceptance *acceptance, bool *present);

const char *host_label(const struct acceptance *acceptance, int host);
/* Of all hosts and rails, for sentences about them. */
struct fleet_names fleet_names_of(const struct acceptance *acceptance);
/* "3 hosts", "1 host". Returns `text`. */
#define COUNTED_MOST 40
const char *counted(int count, const char *what, char text[COUNTED_MOST]);

/* Adds a finding of a host (peer -1), or of a link. */
enum status stage_finds(struct acceptance *acceptance, enum accept_stage stage, int host, int peer,
                        enum health health, enum status status, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Adds a copy; false: out of memory. */
bool number_keep(struct acceptance *acceptance, const struct host_number *number);

/* The status that a pair or host asks for whose job came to this. */
enum status outcome_status(enum reading_outcome outcome);

#endif
