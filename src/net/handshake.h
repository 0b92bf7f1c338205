/*
 * handshake.h - two ends of a socket prove to each other that they know the job's secret.
 *
 * Each end sends a fresh nonce; then who connects, and only when its proof holds who accepts, sends
 * its hello and a keyed hash over both nonces, the hellos so far, the purpose and its own role. So
 * the secret never travels, nothing can be replayed or reflected, and the hellos are authentic, and
 * for their reader only. Who connects without the secret gets nothing that depends on it; who gets
 * a rank to connect to him, or listens on the way, gets a proof, against which he can try guesses.
 *
 * Non-blocking: a listener can have many under way, and a stranger that sends garbage, or nothing,
 * costs one file descriptor until it is dropped.
 */
#ifndef CCTEST_NET_HANDSHAKE_H
#define CCTEST_NET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "net/aead.h"

#define SECRET_BYTES 32

#define HANDSHAKE_HELLO_MOST 1536

struct handshake;

enum handshake_state {
    HANDSHAKE_PENDING, /* call handshake_step() again when poll() reports handshake_events() */
    HANDSHAKE_DONE,    /* the peer has proved itself; the socket is yours */
    HANDSHAKE_REFUSED, /* a stranger, another job's rank, or gone; close the socket */
};

/* `fd`: a connected (or connecting) non-blocking socket; stays the caller's. `purpose` separates
 * kinds of connections ("control", "data"). NULL: out of memory. */
struct handshake *handshake_create(int fd, bool accepting, const unsigned char *secret,
                                   const char *purpose, const void *hello, size_t hello_size);
enum handshake_state handshake_step(struct handshake *handshake);
short handshake_events(const struct handshake *handshake); /* POLLIN or POLLOUT */
/* The peer's hello, once DONE. */
const void *handshake_hello(const struct handshake *handshake, size_t *size);
/* With what the two ends seal what they say from now on, once DONE. A proof says who is there, and
 * not that nobody is between: what is not sealed, as on the tcp transport's data sockets, may be
 * another's words. */
const struct aead_keys *handshake_seals(const struct handshake *handshake);
/* Why it was refused, for a human: "did not speak cctest", "does not know this job's secret",
 * "closed the connection", "is another version of cctest's protocol". */
const char *handshake_reason(const struct handshake *handshake);
/* Was it refused only because the connection ended? Then another attempt may succeed. */
bool handshake_lost(const struct handshake *handshake);
/* Was it refused because the other end is no cctest? Then another address may lead to one. */
bool handshake_foreign(const struct handshake *handshake);
void handshake_free(struct handshake *handshake); /* NULL is allowed */

#endif
