/*
 * rdmacm.h - connects queue pairs through librdmacm (connect=rdmacm).
 */
#ifndef CCTEST_TRANSPORTS_VERBS_RDMACM_H
#define CCTEST_TRANSPORTS_VERBS_RDMACM_H

#include "transports/verbs/verbs.h"

/* Does nothing unless the option or an iWARP rail asks for librdmacm. Else listens on each open
 * rail, and sets the cm_port of each. STATUS_UNAVAILABLE: it cannot, for `reason`. */
enum status verbs_cm_open(struct verbs_endpoint *endpoint, char *reason);

/* Connects all queue pairs to these peers that are not connected yet. They are in the state INIT at
 * both ends. Blocks, and ticks. */
enum status verbs_cm_connect(struct verbs_endpoint *endpoint, const int *peers, int count);

/* iWARP: the end that connected each of these queue pairs sends the first message, and the other
 * one waits for it. Called when both know that they are connected: siw overlooks what comes before. */
enum status verbs_cm_greet(struct verbs_endpoint *endpoint, const int *peers, int count);

/* No queue pair will be connected any more: stops listening. */
void verbs_cm_settle(struct verbs_endpoint *endpoint);

/* Frees the connection of a queue pair, which is destroyed already. */
void verbs_cm_disconnect(struct verbs_pair *pair);

/* Frees the rest, once all connections are freed. */
void verbs_cm_close(struct verbs_endpoint *endpoint);

#endif
