/*
 * written_profile.h - the profile that --write-profile makes of the hosts that are good.
 */
#ifndef CCTEST_ACCEPT_WRITTEN_PROFILE_H
#define CCTEST_ACCEPT_WRITTEN_PROFILE_H

#include <stdio.h>

#include "accept/acceptance.h"

/* Puts what all good hosts have, and what they measured, with some room: a file that
 * host_profile_read() takes. STATUS_ERROR, after fail(): out of memory. */
enum status written_profile_put(const struct acceptance *acceptance, FILE *out);

#endif
