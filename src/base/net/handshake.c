/*
 * handshake.c - two ends of a socket prove to each other that they know the job's secret, and then
 * encrypt their messages.
 *
 *   connecting end                            accepting end
 *   opening: magic, protocol, nonce        -> (answers once it has seen magic and protocol)
 *                                          <- opening: magic, protocol, nonce
 *   claim: hello, proof                    -> checks it
 *   checks it                              <- claim: hello, proof, or one byte that says no
 *
 * The accepting end sends nothing that depends on the secret before the connecting end has proved
 * itself, so a process without the secret can try one guess a connection, and none offline. A
 * process that listens in place of rank 0, or between two ranks, gets a proof and can try guesses
 * against it: keys must be random, or expensive to derive (see secret.c).
 *
 * Hellos are encrypted. The proof is a keyed hash and not the tag of a cipher, since one tag can be
 * made to fit many keys, and so many guesses, at once. The accepting end answers only a peer that
 * sends the magic. Each end reads exactly the bytes of the handshake: what follows is the caller's.
 */
#include "base/net/net.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"

/*
 * Authenticated encryption of the messages of one connection, with a counter as nonce.
 */
_Static_assert(AEAD_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "the key fits");
_Static_assert(AEAD_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "the tag fits");

#define AEAD_NONCE_BYTES crypto_aead_chacha20poly1305_ietf_NPUBBYTES

/* Each key is used for one connection only, so a counter suffices. */
static void make_nonce(const struct aead_key *key, unsigned char nonce[AEAD_NONCE_BYTES])
{
    for (size_t i = 0; i < AEAD_NONCE_BYTES; i++)
        nonce[i] = i < sizeof key->count ? (unsigned char)(key->count >> (8 * i)) : 0;
}

void aead_encrypt(struct aead_key *key, unsigned char *message, size_t size)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    make_nonce(key, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(message, NULL, message, size, NULL, 0, NULL, nonce,
                                              key->key);
    key->count++;
}

bool aead_decrypt(struct aead_key *key, unsigned char *message, size_t size)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    make_nonce(key, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            message, NULL, NULL, message, size + AEAD_TAG_BYTES, NULL, 0, nonce, key->key) != 0)
        return false;
    key->count++;
    return true;
}

/*
 * Two ends of a socket prove to each other that they know the job's secret.
 */
#define MAGIC         "cctest"
#define PROTOCOL      4
#define NONCE_BYTES   32
#define PROOF_BYTES   32
#define PREFIX_BYTES  8 /* magic and protocol */
#define OPENING_BYTES (PREFIX_BYTES + NONCE_BYTES)
#define HEAD_BYTES    3 /* of a claim: what it is, and how long its hello is */
#define CLAIM_MOST    (HEAD_BYTES + HANDSHAKE_HELLO_MOST + PROOF_BYTES)
#define CLAIM         'P'
#define CLAIM_NO      'N'

enum { CONNECTING, ACCEPTING };

/* The part that is expected next from the peer. */
enum handshake_stage {
    STAGE_PREFIX,
    STAGE_NONCE,
    STAGE_ANSWER,
    STAGE_HEAD,
    STAGE_REST,
    STAGE_OVER
};

struct opening {
    unsigned char bytes[OPENING_BYTES];
    size_t size; /* that are here */
};

struct claim {
    unsigned char bytes[CLAIM_MOST]; /* head, hello, proof */
    size_t size;                     /* that are here */
};

struct handshake {
    int fd, role;
    unsigned char secret[SECRET_BYTES];
    char purpose[32];
    struct opening opening[2]; /* by role */
    struct claim claim[2];     /* by role */
    unsigned char out[OPENING_BYTES + CLAIM_MOST];
    size_t out_size, out_sent;
    enum handshake_stage stage;
    bool proved; /* the peer has */
    struct aead_keys keys;
    const char *reason;
};

static const char does_not_speak[] = "did not speak cctest";
static const char does_not_know[] = "does not know this job's secret";
static const char has_closed[] = "closed the connection";
static const char other_protocol[] = "is another version of cctest's protocol";

static void queue(struct handshake *handshake, const void *data, size_t size)
{
    memcpy(handshake->out + handshake->out_size, data, size);
    handshake->out_size += size;
}

struct handshake *handshake_create(int fd, bool accepting, const unsigned char *secret,
                                   const char *purpose, const void *hello, size_t hello_size)
{
    if (hello_size > HANDSHAKE_HELLO_MOST || sodium_init() < 0)
        return NULL;
    struct handshake *handshake = new_array(1, sizeof *handshake);
    handshake->fd = fd;
    handshake->role = accepting ? ACCEPTING : CONNECTING;
    memcpy(handshake->secret, secret, SECRET_BYTES);
    strncpy(handshake->purpose, purpose, sizeof handshake->purpose - 1);

    struct opening *opening = &handshake->opening[handshake->role];
    memcpy(opening->bytes, MAGIC, 6);
    opening->bytes[6] = PROTOCOL & 255;
    opening->bytes[7] = PROTOCOL >> 8;
    randombytes_buf(opening->bytes + PREFIX_BYTES, NONCE_BYTES);
    opening->size = OPENING_BYTES;
    struct claim *claim = &handshake->claim[handshake->role];
    claim->bytes[0] = CLAIM;
    claim->bytes[1] = (unsigned char)(hello_size & 255);
    claim->bytes[2] = (unsigned char)(hello_size >> 8);
    if (hello_size > 0)
        memcpy(claim->bytes + HEAD_BYTES, hello, hello_size);
    if (!accepting)
        queue(handshake, opening->bytes, opening->size);
    return handshake;
}

static size_t hello_size(const struct claim *claim)
{
    return claim->bytes[1] + 256u * claim->bytes[2];
}

/* The values that are derived from the secret, for each role. */
enum key_use { USE_HELLO, USE_PROOF, USE_KEY };

/* Derives a key or a proof from the secret, the purpose, and all bytes that both ends have sent
 * before the hello of `role`, before its proof, or in all. The nonces make it unique. */
static void derive(const struct handshake *handshake, enum key_use use, int role,
                   unsigned char key[PROOF_BYTES])
{
    crypto_generichash_state state;
    unsigned char head[2 + sizeof handshake->purpose] = {(unsigned char)use, (unsigned char)role};
    memcpy(head + 2, handshake->purpose, sizeof handshake->purpose);
    crypto_generichash_init(&state, handshake->secret, SECRET_BYTES, PROOF_BYTES);
    crypto_generichash_update(&state, head, sizeof head);
    for (int i = CONNECTING; i <= ACCEPTING; i++)
        crypto_generichash_update(&state, handshake->opening[i].bytes, OPENING_BYTES);
    /* A claim holds its own length, so two in a row can be read in one way only. */
    int claims = use == USE_HELLO ? role : use == USE_PROOF ? role + 1 : 2;
    for (int i = 0; i < claims; i++)
        crypto_generichash_update(&state, handshake->claim[i].bytes,
                                  HEAD_BYTES + hello_size(&handshake->claim[i]));
    crypto_generichash_final(&state, key, PROOF_BYTES);
    sodium_memzero(&state, sizeof state);
}

/* Encrypts the hello of `role`, or decrypts it. Each key is used once; the proof authenticates the
 * hello. */
static void hello_cipher(struct handshake *handshake, int role, const unsigned char *key)
{
    static const unsigned char nonce[crypto_stream_xchacha20_NONCEBYTES];
    _Static_assert(PROOF_BYTES == crypto_stream_xchacha20_KEYBYTES, "it is a key of this cipher");
    unsigned char *hello = handshake->claim[role].bytes + HEAD_BYTES;
    crypto_stream_xchacha20_xor(hello, hello, hello_size(&handshake->claim[role]), nonce, key);
}

/* The accepting end does this only after the peer has proved itself. */
static void queue_claim(struct handshake *handshake)
{
    int role = handshake->role;
    struct claim *claim = &handshake->claim[role];
    unsigned char key[PROOF_BYTES];
    derive(handshake, USE_HELLO, role, key);
    hello_cipher(handshake, role, key);
    sodium_memzero(key, sizeof key);
    claim->size = HEAD_BYTES + hello_size(claim) + PROOF_BYTES;
    derive(handshake, USE_PROOF, role, claim->bytes + claim->size - PROOF_BYTES);
    queue(handshake, claim->bytes, claim->size);
}

static void refuse(struct handshake *handshake, const char *reason)
{
    if (!handshake->reason)
        handshake->reason = reason;
    handshake->stage = STAGE_OVER;
}

static void check_prefix(struct handshake *handshake)
{
    const unsigned char *prefix = handshake->opening[!handshake->role].bytes;
    if (memcmp(prefix, MAGIC, 6) != 0) {
        refuse(handshake, does_not_speak);
        return;
    }
    if (handshake->role == ACCEPTING)
        queue(handshake, handshake->opening[ACCEPTING].bytes, OPENING_BYTES);
    if (prefix[6] + 256 * prefix[7] != PROTOCOL)
        refuse(handshake, other_protocol);
    else
        handshake->stage = STAGE_NONCE;
}

static void check_answer(struct handshake *handshake)
{
    unsigned char answer = handshake->claim[!handshake->role].bytes[0];
    if (answer == CLAIM)
        handshake->stage = STAGE_HEAD;
    else
        refuse(handshake, answer == CLAIM_NO ? does_not_know : does_not_speak);
}

static void check_claim(struct handshake *handshake)
{
    int role = !handshake->role;
    const struct claim *claim = &handshake->claim[role];
    unsigned char expected[PROOF_BYTES], key[PROOF_BYTES];
    derive(handshake, USE_PROOF, role, expected);
    if (sodium_memcmp(expected, claim->bytes + claim->size - PROOF_BYTES, PROOF_BYTES) != 0) {
        if (handshake->role == ACCEPTING)
            queue(handshake, (const unsigned char[]){CLAIM_NO}, 1);
        refuse(handshake, does_not_know);
        return;
    }
    handshake->proved = true;
    handshake->stage = STAGE_OVER;
    derive(handshake, USE_HELLO, role, key);
    if (handshake->role == ACCEPTING)
        queue_claim(handshake); /* its proof covers the peer's hello as it came, */
    derive(handshake, USE_KEY, handshake->role, handshake->keys.out.key); /* and so do these */
    derive(handshake, USE_KEY, role, handshake->keys.in.key);
    hello_cipher(handshake, role, key);
    sodium_memzero(key, sizeof key);
}

/* The stage's bytes are all here. */
static void stage_end(struct handshake *handshake)
{
    switch (handshake->stage) {
    case STAGE_PREFIX:
        check_prefix(handshake);
        break;
    case STAGE_NONCE:
        handshake->stage = STAGE_ANSWER;
        if (handshake->role == CONNECTING)
            queue_claim(handshake);
        break;
    case STAGE_ANSWER:
        check_answer(handshake);
        break;
    case STAGE_HEAD:
        if (hello_size(&handshake->claim[!handshake->role]) > HANDSHAKE_HELLO_MOST)
            refuse(handshake, does_not_speak);
        else
            handshake->stage = STAGE_REST;
        break;
    case STAGE_REST:
        check_claim(handshake);
        break;
    case STAGE_OVER:
        break;
    }
}

/* Where the stage's bytes go, how many are here, and how many it needs. */
static unsigned char *stage_room(struct handshake *handshake, size_t **have, size_t *need)
{
    struct opening *opening = &handshake->opening[!handshake->role];
    struct claim *claim = &handshake->claim[!handshake->role];
    if (handshake->stage <= STAGE_NONCE) {
        *have = &opening->size;
        *need = handshake->stage == STAGE_PREFIX ? PREFIX_BYTES : OPENING_BYTES;
        return opening->bytes;
    }
    *have = &claim->size;
    *need = handshake->stage == STAGE_ANSWER ? 1
            : handshake->stage == STAGE_HEAD ? HEAD_BYTES
                                             : HEAD_BYTES + hello_size(claim) + PROOF_BYTES;
    return claim->bytes;
}

/* Sends what is queued; false when the socket takes no more now. */
static bool flush(struct handshake *handshake)
{
    while (handshake->out_sent < handshake->out_size) {
        ssize_t count = send(handshake->fd, handshake->out + handshake->out_sent,
                             handshake->out_size - handshake->out_sent, MSG_NOSIGNAL);
        if (count > 0) {
            handshake->out_sent += (size_t)count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return false;
        } else if (errno != EINTR) {
            /* Bytes that the peer sent before it closed may still explain why. */
            handshake->out_sent = handshake->out_size;
            if (handshake->stage == STAGE_OVER)
                refuse(handshake, has_closed);
        }
    }
    return true;
}

/* Receives until the stage ends; false when nothing more is there now. */
static bool receive(struct handshake *handshake)
{
    size_t *have, need;
    unsigned char *room = stage_room(handshake, &have, &need);
    while (*have < need) {
        ssize_t count = recv(handshake->fd, room + *have, need - *have, 0);
        if (count > 0) {
            *have += (size_t)count;
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return false;
        } else if (count == 0 || errno != EINTR) {
            refuse(handshake, has_closed);
            return true;
        }
    }
    stage_end(handshake);
    return true;
}

enum handshake_state handshake_step(struct handshake *handshake)
{
    do {
        if (!flush(handshake))
            return handshake->reason ? HANDSHAKE_REFUSED : HANDSHAKE_PENDING;
        if (handshake->stage == STAGE_OVER && handshake->out_sent == handshake->out_size)
            return handshake->proved && !handshake->reason ? HANDSHAKE_DONE : HANDSHAKE_REFUSED;
    } while (handshake->stage == STAGE_OVER || receive(handshake));
    return HANDSHAKE_PENDING;
}

short handshake_events(const struct handshake *handshake)
{
    return handshake->out_sent < handshake->out_size ? POLLOUT : POLLIN;
}

const void *handshake_hello(const struct handshake *handshake, size_t *size)
{
    const struct claim *theirs = &handshake->claim[!handshake->role];
    *size = hello_size(theirs);
    return theirs->bytes + HEAD_BYTES;
}

const struct aead_keys *handshake_keys(const struct handshake *handshake)
{
    return &handshake->keys;
}

const char *handshake_reason(const struct handshake *handshake)
{
    return handshake->reason ? handshake->reason : "did not answer";
}

bool handshake_lost(const struct handshake *handshake)
{
    return handshake->reason == has_closed;
}

bool handshake_foreign(const struct handshake *handshake)
{
    return handshake->reason == does_not_speak;
}

void handshake_free(struct handshake *handshake)
{
    if (handshake)
        sodium_memzero(handshake, sizeof *handshake);
    free(handshake);
}
