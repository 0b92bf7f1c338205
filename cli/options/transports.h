/*
 * transports.h - the value of --transport: a list of transports, each with its options.
 */
#ifndef CCTEST_CLI_OPTIONS_TRANSPORTS_H
#define CCTEST_CLI_OPTIONS_TRANSPORTS_H

#include "cli/options/option.h"

extern const struct option_kind kind_transport;

/* The index of a transport's option by its name, of `length` bytes; -1: it has no such option. */
int transport_option_index(const struct transport *transport, const char *name, size_t length);

/* What a transport says of its settings together, and of this machine. STATUS_USAGE: no machine
 * may run with them. STATUS_UNAVAILABLE: the settings hold, but this machine cannot use a
 * transport that the user names. */
enum status transports_settle(struct request *request);

#endif
