/*
 * managed.h - this process is one rank of a process manager's job.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_MANAGED_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_MANAGED_H

#include "controlplane/bootstrap/process_manager.h"
#include "controlplane/bootstrap/rank_main.h"

/* Runs the rank that `manager` names, and closes `manager`. */
enum status bootstrap_run_managed(const struct bootstrap_options *options,
                                  struct process_manager *manager, rank_main *main, void *argument);

/* The text that rank 0 broadcasts through the manager: its host, its addresses, and a nonce for
 * secret_mix(). False: out of memory; or the text is invalid. */
bool meeting_encode(const struct membership *root, const unsigned char nonce[SECRET_BYTES],
                    char text[MANAGER_TEXT_MOST]);
bool meeting_decode(const char *text, struct membership *membership,
                    unsigned char nonce[SECRET_BYTES]);

#endif
