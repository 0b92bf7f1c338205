/*
 * aead.h - messages that nobody but the two ends of a connection can read, change or make.
 *
 * Each direction of each connection has a key of its own, which the handshake gives, and counts its
 * messages: one that was changed, repeated, left out or moved on the way does not open. That keeps
 * out who relayed the handshake to speak in its stead afterwards.
 */
#ifndef CCTEST_NET_AEAD_H
#define CCTEST_NET_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY_BYTES 32
#define SEAL_BYTES     16 /* that stand behind a sealed message */

/* Of one direction. */
struct seal {
    unsigned char key[SEAL_KEY_BYTES];
    uint64_t count; /* messages so far */
};

/* Of one end. */
struct seals {
    struct seal out, in;
};

/* Enciphers `size` bytes in place and writes SEAL_BYTES behind them. */
void seal_close(struct seal *seal, unsigned char *message, size_t size);
/* Deciphers them in place; false: they are not the other end's next message, and are of no use. */
bool seal_open(struct seal *seal, unsigned char *message, size_t size);

#endif
