/*
 * aead.c - authenticated encryption of the messages of one connection, with a counter as nonce.
 */
#include "base/net/net.h"

#include <sodium.h>

_Static_assert(AEAD_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "the key fits");
_Static_assert(AEAD_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "the tag fits");

#define NONCE_BYTES crypto_aead_chacha20poly1305_ietf_NPUBBYTES

/* Each key is used for one connection only, so a counter suffices. */
static void make_nonce(const struct aead_key *key, unsigned char nonce[NONCE_BYTES])
{
    for (size_t i = 0; i < NONCE_BYTES; i++)
        nonce[i] = i < sizeof key->count ? (unsigned char)(key->count >> (8 * i)) : 0;
}

void aead_encrypt(struct aead_key *key, unsigned char *message, size_t size)
{
    unsigned char nonce[NONCE_BYTES];
    make_nonce(key, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(message, NULL, message, size, NULL, 0, NULL, nonce,
                                              key->key);
    key->count++;
}

bool aead_decrypt(struct aead_key *key, unsigned char *message, size_t size)
{
    unsigned char nonce[NONCE_BYTES];
    make_nonce(key, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            message, NULL, NULL, message, size + AEAD_TAG_BYTES, NULL, 0, nonce, key->key) != 0)
        return false;
    key->count++;
    return true;
}
