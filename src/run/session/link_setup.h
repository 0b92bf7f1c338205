/*
 * link_setup.h - opens a rank's links, and connects them to its peers.
 */
#ifndef CCTEST_RUN_SESSION_LINK_SETUP_H
#define CCTEST_RUN_SESSION_LINK_SETUP_H

#include "run/session/session_internal.h"

/* Opens the transports, and exchanges their addresses and the names of devices. All ranks call it
 * together. Errors: links_open()'s, device_watch_open()'s. */
enum status session_exchange_offers(struct session *session);

/* Chooses a transport for each peer, and connects. All ranks call it together. Errors: a peer that
 * none reaches, rings for which there is no memory, links_connect()'s. */
enum status session_connect(struct session *session);

#endif
