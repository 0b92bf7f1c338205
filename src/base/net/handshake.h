/*
 * handshake.h - two ends of a socket prove to each other that they know the job's secret.
 *
 * Each end sends a fresh nonce. Then the connecting end sends its hello and its proof: a keyed hash
 * over both nonces, the hellos so far, the purpose and its role. The accepting end checks it before
 * it sends its own. So the secret is never sent, nothing can be replayed or reflected, and the
 * hellos are authentic and encrypted. A process that connects without the secret gets nothing that
 * depends on it. A process to which a rank connects, or that listens in between, gets a proof,
 * against which it can try guesses.
 *
 * Non-blocking: a listener can have many handshakes under way. A process that sends garbage, or
 * nothing, costs one file descriptor until it is dropped.
 */
#ifndef CCTEST_BASE_NET_HANDSHAKE_H
#define CCTEST_BASE_NET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net/aead.h"

#define SECRET_BYTES 32

#define HANDSHAKE_HELLO_MOST 1536

struct handshake;

enum handshake_state {
    HANDSHAKE_PENDING, /* call handshake_step() again when poll() reports handshake_events() */
    HANDSHAKE_DONE,    /* the peer has proved itself; the socket is yours */
    HANDSHAKE_REFUSED, /* not a rank of this job, or gone; close the socket */
};

/* `fd`: a connected (or connecting) non-blocking socket; stays the caller's. `purpose` separates
 * kinds of connections ("control", "data"). NULL: out of memory. */
struct handshake *handshake_create(int fd, bool accepting, const unsigned char *secret,
                                   const char *purpose, const void *hello, size_t hello_size);
enum handshake_state handshake_step(struct handshake *handshake);
short handshake_events(const struct handshake *handshake); /* POLLIN or POLLOUT */
/* The peer's hello, once DONE. */
const void *handshake_hello(const struct handshake *handshake, size_t *size);
/* The keys of the connection, once DONE. The proof does not exclude a process in between, so
 * bytes that are not encrypted (the tcp transport's data) may have been changed. */
const struct aead_keys *handshake_keys(const struct handshake *handshake);
/* Why it was refused, for a human: "did not speak cctest", "does not know this job's secret",
 * "closed the connection", "is another version of cctest's protocol". */
const char *handshake_reason(const struct handshake *handshake);
/* Was it refused only because the connection ended? Then another attempt may succeed. */
bool handshake_lost(const struct handshake *handshake);
/* Was it refused because the other end is no cctest? Then another address may lead to one. */
bool handshake_foreign(const struct handshake *handshake);
void handshake_free(struct handshake *handshake); /* NULL is allowed */

#endif
