/*
 * aead.c - messages that nobody but the two ends of a connection can read, change or make.
 */
#include "net/aead.h"

#include <sodium.h>

_Static_assert(AEAD_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "the key fits");
_Static_assert(AEAD_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "the tag fits");

#define NONCE_BYTES crypto_aead_chacha20poly1305_ietf_NPUBBYTES

/* The key is fresh, so the count alone is never the same again. */
static void seal_nonce(const struct aead_key *seal, unsigned char nonce[NONCE_BYTES])
{
    for (size_t i = 0; i < NONCE_BYTES; i++)
        nonce[i] = i < sizeof seal->count ? (unsigned char)(seal->count >> (8 * i)) : 0;
}

void aead_seal(struct aead_key *seal, unsigned char *message, size_t size)
{
    unsigned char nonce[NONCE_BYTES];
    seal_nonce(seal, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(message, NULL, message, size, NULL, 0, NULL, nonce,
                                              seal->key);
    seal->count++;
}

bool aead_open(struct aead_key *seal, unsigned char *message, size_t size)
{
    unsigned char nonce[NONCE_BYTES];
    seal_nonce(seal, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            message, NULL, NULL, message, size + AEAD_TAG_BYTES, NULL, 0, nonce, seal->key) != 0)
        return false;
    seal->count++;
    return true;
}
