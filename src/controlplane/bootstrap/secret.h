/*
 * secret.h - the key of a job, derived from the user's secret.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_SECRET_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_SECRET_H

#include "base/status.h"
#include "controlplane/control/membership.h"

/* Derives membership->secret from `shared` and from the user's secret (CCTEST_SECRET,
 * CCTEST_SECRET_FILE), if one is set; then has_secret is true. STATUS_USAGE: it cannot be read. */
enum status secret_find(const char *shared, struct membership *membership);

/* Mixes a nonce of this job into membership->secret. */
void secret_mix(const unsigned char nonce[SECRET_BYTES], struct membership *membership);

#endif
