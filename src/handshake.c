/*
 * handshake.c - two ends of a socket prove to each other that they know the job's secret.
 *
 *   connecting end                            accepting end
 *   opening: magic, protocol, nonce, hello -> (answers once it has seen magic and protocol)
 *                                          <- opening: magic, protocol, nonce, hello
 *   proof                                  -> checks it
 *   checks it                              <- proof, or one byte that says no
 *
 * The connecting end proves itself first, so that a stranger who connects learns no proof. One who
 * listens in place of rank 0 does learn one, and can try guesses of the secret against it: keys
 * must be random, or dear to derive (see secret.c). Hellos travel enciphered, so that only who
 * knows the secret can read them. The accepting end speaks only to those who speak cctest. Each
 * reads exactly the bytes of the handshake and no more: what follows on the socket belongs to the
 * caller.
 */
#include "handshake.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "control.h"

#define MAGIC        "cctest"
#define PROTOCOL     1
#define NONCE_BYTES  32
#define PROOF_BYTES  32
#define PREFIX_BYTES 8 /* magic and protocol */
#define FIXED_BYTES  (PREFIX_BYTES + NONCE_BYTES + 2)
#define ANSWER_PROOF 'P'
#define ANSWER_NO    'N'

enum { CONNECTING, ACCEPTING };

/* What is expected next from the peer. */
enum stage { STAGE_PREFIX, STAGE_FIXED, STAGE_HELLO, STAGE_ANSWER, STAGE_PROOF, STAGE_OVER };

struct opening {
    unsigned char bytes[FIXED_BYTES + HANDSHAKE_HELLO_MOST];
    size_t size;
};

struct handshake {
    int fd, role;
    unsigned char secret[SECRET_BYTES];
    char purpose[32];
    struct opening opening[2]; /* by role */
    unsigned char answer[1 + PROOF_BYTES];
    size_t answered; /* bytes of the peer's answer that are here */
    unsigned char out[FIXED_BYTES + HANDSHAKE_HELLO_MOST + 1 + PROOF_BYTES];
    size_t out_size, out_sent;
    enum stage stage;
    bool proved; /* the peer has */
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

/* Enciphers the opening's hello, or deciphers it. The nonce is fresh, so no two hellos share a key
 * stream; that nobody changed it on the way is what the proof shows. */
static void hello_cipher(const struct handshake *handshake, struct opening *opening)
{
    static const unsigned char domain[] = "cctest hello";
    unsigned char key[crypto_stream_xchacha20_KEYBYTES];
    _Static_assert(NONCE_BYTES >= crypto_stream_xchacha20_NONCEBYTES, "the nonce is long enough");
    crypto_generichash(key, sizeof key, domain, sizeof domain, handshake->secret, SECRET_BYTES);
    unsigned char *hello = opening->bytes + FIXED_BYTES;
    crypto_stream_xchacha20_xor(hello, hello, opening->size - FIXED_BYTES,
                                opening->bytes + PREFIX_BYTES, key);
    sodium_memzero(key, sizeof key);
}

struct handshake *handshake_create(int fd, bool accepting, const unsigned char *secret,
                                   const char *purpose, const void *hello, size_t hello_size)
{
    if (hello_size > HANDSHAKE_HELLO_MOST || sodium_init() < 0)
        return NULL;
    struct handshake *handshake = calloc(1, sizeof *handshake);
    if (!handshake)
        return NULL;
    handshake->fd = fd;
    handshake->role = accepting ? ACCEPTING : CONNECTING;
    memcpy(handshake->secret, secret, SECRET_BYTES);
    strncpy(handshake->purpose, purpose, sizeof handshake->purpose - 1);

    struct opening *mine = &handshake->opening[handshake->role];
    unsigned char *fixed = mine->bytes;
    memcpy(fixed, MAGIC, 6);
    fixed[6] = PROTOCOL & 255;
    fixed[7] = PROTOCOL >> 8;
    randombytes_buf(fixed + PREFIX_BYTES, NONCE_BYTES);
    fixed[FIXED_BYTES - 2] = (unsigned char)(hello_size & 255);
    fixed[FIXED_BYTES - 1] = (unsigned char)(hello_size >> 8);
    if (hello_size > 0)
        memcpy(fixed + FIXED_BYTES, hello, hello_size);
    mine->size = FIXED_BYTES + hello_size;
    hello_cipher(handshake, mine);
    if (!accepting)
        queue(handshake, mine->bytes, mine->size);
    return handshake;
}

/* The proof of `role`: keyed with the secret, over all that both ends have said. */
static void prove(const struct handshake *handshake, int role, unsigned char proof[PROOF_BYTES])
{
    crypto_generichash_state state;
    unsigned char head[1 + sizeof handshake->purpose] = {(unsigned char)role};
    memcpy(head + 1, handshake->purpose, sizeof handshake->purpose);
    crypto_generichash_init(&state, handshake->secret, SECRET_BYTES, PROOF_BYTES);
    crypto_generichash_update(&state, head, sizeof head);
    /* An opening holds its own length, so two openings in a row can be read in one way only. */
    for (int i = CONNECTING; i <= ACCEPTING; i++)
        crypto_generichash_update(&state, handshake->opening[i].bytes, handshake->opening[i].size);
    crypto_generichash_final(&state, proof, PROOF_BYTES);
}

static void queue_proof(struct handshake *handshake)
{
    unsigned char answer[1 + PROOF_BYTES] = {ANSWER_PROOF};
    prove(handshake, handshake->role, answer + 1);
    queue(handshake, answer, sizeof answer);
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
        queue(handshake, handshake->opening[ACCEPTING].bytes, handshake->opening[ACCEPTING].size);
    if (prefix[6] + 256 * prefix[7] != PROTOCOL)
        refuse(handshake, other_protocol);
    else
        handshake->stage = STAGE_FIXED;
}

static void check_proof(struct handshake *handshake)
{
    unsigned char expected[PROOF_BYTES];
    prove(handshake, !handshake->role, expected);
    if (sodium_memcmp(expected, handshake->answer + 1, PROOF_BYTES) != 0) {
        if (handshake->role == ACCEPTING)
            queue(handshake, (const unsigned char[]){ANSWER_NO}, 1);
        refuse(handshake, does_not_know);
        return;
    }
    handshake->proved = true;
    handshake->stage = STAGE_OVER;
    if (handshake->role == ACCEPTING)
        queue_proof(handshake);
    hello_cipher(handshake, &handshake->opening[!handshake->role]); /* all proofs are made */
}

static size_t hello_size(const struct opening *opening)
{
    return opening->bytes[FIXED_BYTES - 2] + 256u * opening->bytes[FIXED_BYTES - 1];
}

/* The stage's bytes are all here. */
static void stage_end(struct handshake *handshake)
{
    switch (handshake->stage) {
    case STAGE_PREFIX:
        check_prefix(handshake);
        break;
    case STAGE_FIXED:
        if (hello_size(&handshake->opening[!handshake->role]) > HANDSHAKE_HELLO_MOST)
            refuse(handshake, does_not_speak);
        else
            handshake->stage = STAGE_HELLO;
        break;
    case STAGE_HELLO:
        handshake->stage = STAGE_ANSWER;
        if (handshake->role == CONNECTING)
            queue_proof(handshake);
        break;
    case STAGE_ANSWER:
        if (handshake->answer[0] == ANSWER_PROOF)
            handshake->stage = STAGE_PROOF;
        else
            refuse(handshake, handshake->answer[0] == ANSWER_NO ? does_not_know : does_not_speak);
        break;
    case STAGE_PROOF:
        check_proof(handshake);
        break;
    case STAGE_OVER:
        break;
    }
}

/* Where the stage's bytes go, how many are here, and how many it needs. */
static unsigned char *stage_room(struct handshake *handshake, size_t **have, size_t *need)
{
    struct opening *theirs = &handshake->opening[!handshake->role];
    if (handshake->stage >= STAGE_ANSWER) {
        *have = &handshake->answered;
        *need = handshake->stage == STAGE_ANSWER ? 1 : 1 + PROOF_BYTES;
        return handshake->answer;
    }
    *have = &theirs->size;
    *need = handshake->stage == STAGE_PREFIX  ? PREFIX_BYTES
            : handshake->stage == STAGE_FIXED ? FIXED_BYTES
                                              : FIXED_BYTES + hello_size(theirs);
    return theirs->bytes;
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
            /* What the peer said before it closed may still explain why. */
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
    const struct opening *theirs = &handshake->opening[!handshake->role];
    *size = hello_size(theirs);
    return theirs->bytes + FIXED_BYTES;
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
