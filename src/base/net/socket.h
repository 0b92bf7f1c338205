/*
 * socket.h - connecting with non-blocking TCP sockets.
 */
#ifndef CCTEST_BASE_NET_SOCKET_H
#define CCTEST_BASE_NET_SOCKET_H

#include <stdbool.h>

#include "base/net/address.h"

/* Begins to connect; returns the socket, or -1 with errno. */
int socket_connect(const struct address *address);

/* The result of a connect that poll() reported: 0 or an errno. */
int socket_connect_result(int fd);

/* Small messages leave at once. */
void socket_set_prompt(int fd);

/* Do both ends have the same address? Then no byte leaves the host. */
bool socket_stays_here(int fd);

#endif
