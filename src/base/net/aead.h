/*
 * aead.h - authenticated encryption of the messages of one connection, with a counter as nonce.
 *
 * Each direction of each connection has a key of its own, which the handshake gives, and counts its
 * messages: a message that was changed, repeated, left out or moved does not open. So a process
 * that relayed the handshake cannot speak afterwards.
 */
#ifndef CCTEST_BASE_NET_AEAD_H
#define CCTEST_BASE_NET_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AEAD_KEY_BYTES 32
#define AEAD_TAG_BYTES 16 /* behind an encrypted message */

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
void aead_encrypt(struct aead_key *key, unsigned char *message, size_t size);
/* Deciphers in place; false: this is not the other end's next message. */
bool aead_decrypt(struct aead_key *key, unsigned char *message, size_t size);

#endif
