/*
 * handshake.c - two ends of a handshake, with somebody between them who changes what they say.
 *
 * Input: flags, then the hello of the connecting end (its length, its bytes), then changes: where
 * (16 bits; the highest: which direction), how many bytes are left out there, how many are put in,
 * and those. Random numbers are the same in every run, so that an input always does the same.
 *
 * Nobody may be taken for one of ours who does not know the secret, or whose words were changed;
 * and who was not disturbed must get in, with the hello that it sent.
 */
#include "base/net/net.h"

#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/control/control.h"
#include "fuzz.h"

enum { OTHER_SECRET = 1, OTHER_PURPOSE = 2 };

#define CHANGES_MOST 20

struct change {
    size_t at, out, in;
    unsigned char *bytes;
};

/* One direction: from one end's socket to the other's. */
struct way {
    int from, to;
    size_t at; /* of the stream, next byte that comes */
    size_t skip;
    struct change changes[CHANGES_MOST];
    int count, next;
    bool changed; /* what arrived is not what was sent */
};

static uint32_t random_state;

static uint32_t random_next(void)
{
    return random_state = random_state * 1664525u + 1013904223u;
}

static void random_fill(void *buffer, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)buffer)[i] = (unsigned char)(random_next() >> 24);
}

static const char *random_name(void)
{
    return "fuzz";
}

/* Passes on the bytes that have come, with the changes that are due. False: none had come. */
static bool way_step(struct way *way)
{
    unsigned char came[4096];
    ssize_t count = recv(way->from, came, sizeof came, 0);
    struct bytes out = {0};
    for (ssize_t i = 0; i < count; i++, way->at++) {
        while (way->next < way->count && way->changes[way->next].at <= way->at) {
            const struct change *change = &way->changes[way->next++];
            bytes_put(&out, change->bytes, change->in);
            way->skip += change->out;
            way->changed |= change->in > 0;
        }
        if (way->skip > 0) {
            way->skip--;
            way->changed = true;
        } else {
            bytes_put(&out, &came[i], 1);
        }
    }
    if (out.size > 0)
        require(send(way->to, out.data, out.size, MSG_NOSIGNAL) == (ssize_t)out.size);
    bytes_free(&out);
    return count > 0;
}

static void way_read(struct way ways[2], struct reader *input)
{
    while (input->left >= 4) {
        unsigned where = input_u16(input);
        struct way *way = &ways[where >> 15];
        struct change change = {.at = where & 0x7fff, .out = input_u8(input)};
        change.in = input_u8(input);
        change.bytes = input_copy(input, &change.in);
        if (way->count == CHANGES_MOST)
            free(change.bytes);
        else
            way->changes[way->count++] = change;
    }
}

/* Whoever has got in has said exactly this. */
static void hello_judge(struct handshake *end, const void *sent, size_t size)
{
    size_t length;
    struct join_request hello;
    const void *said = handshake_hello(end, &length);
    require(length == size && memcmp(said, sent, size) == 0);
    join_request_decode(said, length, &hello);
}

static void judge(unsigned flags, const struct way ways[2], struct handshake *const ends[2],
                  const enum handshake_state states[2])
{
    bool same = !(flags & (OTHER_SECRET | OTHER_PURPOSE));
    bool whole = same && !ways[0].changed && !ways[1].changed;
    for (int end = 0; end < 2; end++) {
        require(handshake_reason(ends[end])[0]);
        require(!whole || states[end] == HANDSHAKE_DONE);
        require(same || states[end] != HANDSHAKE_DONE);
    }
}

static void run(unsigned flags, const unsigned char *hello, size_t size, struct reader *input)
{
    static const unsigned char secrets[2][SECRET_BYTES] = {"one", "another"};
    int left[2], right[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, left) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, right))
        abort();
    struct way ways[2] = {{.from = left[1], .to = right[1]}, {.from = right[1], .to = left[1]}};
    way_read(ways, input);
    struct handshake *ends[2] = {
        handshake_create(left[0], false, secrets[flags & OTHER_SECRET], "control", hello, size),
        handshake_create(right[0], true, secrets[0], flags & OTHER_PURPOSE ? "data" : "control",
                         "root", 4)};
    require(ends[0] && ends[1]);
    enum handshake_state states[2] = {HANDSHAKE_PENDING, HANDSHAKE_PENDING};
    for (bool moved = true; moved;) {
        moved = false;
        for (int end = 0; end < 2; end++)
            if (states[end] == HANDSHAKE_PENDING)
                states[end] = handshake_step(ends[end]);
        for (int way = 0; way < 2; way++)
            while (way_step(&ways[way]))
                moved = true;
    }
    judge(flags, ways, ends, states);
    if (states[0] == HANDSHAKE_DONE)
        hello_judge(ends[0], "root", 4);
    if (states[1] == HANDSHAKE_DONE)
        hello_judge(ends[1], hello, size);
    for (int end = 0; end < 2; end++) {
        handshake_free(ends[end]);
        for (int i = 0; i < ways[end].count; i++)
            free(ways[end].changes[i].bytes);
        close(left[end]);
        close(right[end]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct randombytes_implementation random = {
        .implementation_name = random_name, .random = random_next, .buf = random_fill};
    randombytes_set_implementation(&random);
    random_state = 1;
    struct reader input = {.at = data, .left = size};
    unsigned flags = input_u8(&input);
    size_t length = input_u16(&input) % (HANDSHAKE_HELLO_MOST + 1);
    unsigned char *hello = input_copy(&input, &length);
    run(flags, hello, length, &input);
    free(hello);
    return 0;
}

static void seed(const char *name, unsigned flags, const void *changes, size_t size)
{
    struct join_request hello;
    unsigned char encoded[HANDSHAKE_HELLO_MOST];
    const struct membership membership = {.rank = 1, .ranks = 2};
    struct bytes bytes = {0};
    join_request_fill(&hello, &membership, "allreduce");
    size_t length = join_request_encode(&hello, encoded);
    const unsigned char head[] = {(unsigned char)flags, (unsigned char)(length & 255),
                                  (unsigned char)(length >> 8)};
    bytes_put(&bytes, head, sizeof head);
    bytes_put(&bytes, encoded, length);
    bytes_put(&bytes, changes, size);
    fuzz_seed(name, bytes.data, bytes.size);
    bytes_free(&bytes);
}

void fuzz_seeds(void)
{
    seed("honest", 0, NULL, 0);
    seed("stranger", OTHER_SECRET, NULL, 0);
    seed("other-purpose", OTHER_PURPOSE, NULL, 0);
    seed("length", 0, (const unsigned char[]){41, 0, 2, 2, 255, 255}, 6);
    unsigned char long_hello[6 + 18 * 259] = {41, 0, 2, 2, 255, 255};
    for (size_t i = 0; i < 18; i++)
        memcpy(long_hello + 6 + 259 * i, (const unsigned char[]){43, 0, 0, 255}, 4);
    seed("long", 0, long_hello, sizeof long_hello);
    seed("magic", 0, (const unsigned char[]){0, 0, 1, 1, 'C'}, 5);
    seed("protocol", 0, (const unsigned char[]){6, 0x80, 1, 1, 9}, 5);
    seed("answer", 0, (const unsigned char[]){40, 0x80, 1, 1, 'N'}, 5);
    seed("cut", 0, (const unsigned char[]){20, 0, 200, 0}, 4);
}
