/*
 * tcp.h - this process is one rank, which meets the others at a host and a port.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_TCP_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_TCP_H

#include "controlplane/bootstrap/launcher.h"
#include "controlplane/bootstrap/rank_main.h"

/* Runs the rank that `launch` names. Without options->rendezvous its launcher tells where rank 0
 * is. */
enum status bootstrap_run_tcp(const struct bootstrap_options *options, const struct launch *launch,
                              rank_main *main, void *argument);

/* Splits "host:port" or "[::1]:port"; false: `text` is neither. */
bool rendezvous_parse(const char *text, char *host, size_t size, int *port);

#endif
