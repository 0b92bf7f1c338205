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

#define AEAD_KEY_BYTES 32
#define AEAD_TAG_BYTES 16 /* that stand behind a sealed message */

/* Of one direction. */
struct aead_key {
    unsigned char key[AEAD_KEY_BYTES];
    uint64_t count; /* messages so far */
};

/* Of one end. */
struct aead_keys {
    struct aead_key out, in;
};

/* Enciphers `size` bytes in place and writes AEAD_TAG_BYTES behind them. */
void aead_seal(struct aead_key *seal, unsigned char *message, size_t size);
/* Deciphers them in place; false: they are not the other end's next message, and are of no use. */
bool aead_open(struct aead_key *seal, unsigned char *message, size_t size);

#endif
