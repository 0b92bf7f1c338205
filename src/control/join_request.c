/*
 * join_request.c - what a rank says of itself when it joins, and whether rank 0 can work with it.
 *
 * The version stands first and keeps its place for ever, so that ranks of different versions can at
 * least tell each other that they are.
 */
#include "control/join_request.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/host.h"

_Static_assert(sizeof(struct hello) + 64 <= HANDSHAKE_HELLO_MOST, "a hello fits the handshake");

void hello_fill(struct hello *hello, const struct membership *membership, const char *options)
{
    memset(hello, 0, sizeof *hello);
    snprintf(hello->version, sizeof hello->version, "%s", CCTEST_VERSION);
    hello->ranks = membership->ranks;
    hello->rank = membership->rank;
    host_name(hello->host, sizeof hello->host);
    host_boot(hello->boot, sizeof hello->boot);
    hello->pid = getpid();
    crypto_generichash(hello->digest, sizeof hello->digest, (const unsigned char *)options,
                       strlen(options), NULL, 0);
    snprintf(hello->options, sizeof hello->options, "%s", options);
}

size_t hello_encode(const struct hello *hello, unsigned char *bytes)
{
    struct bytes out = {0};
    bytes_put_text(&out, hello->version);
    bytes_put_u32(&out, (uint32_t)hello->ranks);
    bytes_put_u32(&out, (uint32_t)hello->rank);
    bytes_put_text(&out, hello->host);
    bytes_put_text(&out, hello->boot);
    bytes_put_u64(&out, (uint64_t)hello->pid);
    bytes_put(&out, hello->digest, sizeof hello->digest);
    bytes_put_text(&out, hello->options);
    bytes_put_u32(&out, hello->arrival);
    unsigned char blob[HOME_BLOB_MOST];
    bytes_put(&out, blob, home_write(&hello->home, blob));
    size_t size = out.failed ? 0 : out.size;
    if (size > 0)
        memcpy(bytes, out.data, size);
    bytes_free(&out);
    return size;
}

bool hello_decode(const void *bytes, size_t size, struct hello *hello)
{
    struct reader reader = {.at = bytes, .left = size};
    memset(hello, 0, sizeof *hello);
    read_text(&reader, hello->version, sizeof hello->version);
    if (reader.bad)
        return false;
    hello->ranks = (int)read_u32(&reader);
    hello->rank = (int)read_u32(&reader);
    read_text(&reader, hello->host, sizeof hello->host);
    /* What follows may be laid out in another way; even these are no more than a help then. */
    if (strcmp(hello->version, CCTEST_VERSION) != 0)
        return true;
    read_text(&reader, hello->boot, sizeof hello->boot);
    hello->pid = (long)read_u64(&reader);
    const unsigned char *digest = read_bytes(&reader, sizeof hello->digest);
    if (digest)
        memcpy(hello->digest, digest, sizeof hello->digest);
    read_text(&reader, hello->options, sizeof hello->options);
    uint32_t arrival = read_u32(&reader);
    hello->arrival = (enum arrival)arrival;
    return !reader.bad && arrival < ARRIVALS && home_read(reader.at, reader.left, &hello->home);
}

bool hello_same(const struct hello *a, const struct hello *b)
{
    unsigned char home_a[HOME_BLOB_MOST], home_b[HOME_BLOB_MOST];
    size_t size = home_write(&a->home, home_a);
    return a->rank == b->rank && a->pid == b->pid && strcmp(a->host, b->host) == 0 &&
           strcmp(a->boot, b->boot) == 0 && home_write(&b->home, home_b) == size &&
           memcmp(home_a, home_b, size) == 0;
}

/* The end of the option that begins at `text`: before the next " -x" or " --name". */
static size_t option_length(const char *text)
{
    const char *at = text;
    while ((at = strstr(at + 1, " -")) && !isalpha((unsigned char)at[2]) && at[2] != '-')
        ;
    return at ? (size_t)(at - text) : strlen(text);
}

/* Is it, as a whole, among the options in `text`? */
static bool option_among(const char *option, size_t length, const char *text)
{
    for (size_t other; *text; text += other + (text[other] == ' ')) {
        other = option_length(text);
        if (other == length && memcmp(option, text, length) == 0)
            return true;
    }
    return false;
}

/* The options in `text` that are not so in `other`, the first of them from its first difference on
 * if it is long: what a human wants to compare. */
static const char *difference(const char *text, const char *other, char *part, size_t size)
{
    size_t end = 0, same = 0;
    while (text[same] && text[same] == other[same])
        same++;
    const char *differs = text + same;
    part[0] = '\0';
    for (size_t length; *text && end + 4 < size; text += length + (text[length] == ' ')) {
        length = option_length(text);
        if (option_among(text, length, other))
            continue;
        const char *begin = text;
        if (differs > text + 60 && differs < text + length)
            begin = differs - 30;
        end += (size_t)snprintf(part + end, size - end, "%s%s%.*s", end ? " " : "",
                                begin > text ? "..." : "", (int)(text + length - begin), begin);
    }
    if (end >= size)
        memcpy(part + size - 4, "...", 4);
    return end ? part : "nothing";
}

enum status hello_check(const struct hello *root, const struct hello *guest, char *refusal,
                        size_t size)
{
    if (strcmp(root->version, guest->version) != 0) {
        snprintf(refusal, size,
                 "rank %d on host %s runs cctest %s, rank 0 runs %s: install the same version "
                 "everywhere",
                 guest->rank, guest->host, guest->version, root->version);
        return STATUS_ERROR;
    }
    if (root->ranks != guest->ranks) {
        snprintf(refusal, size,
                 "rank %d on host %s was started for a world of %d ranks, rank 0 for one of %d: "
                 "give all the same --world",
                 guest->rank, guest->host, guest->ranks, root->ranks);
        return STATUS_USAGE;
    }
    if (guest->rank < 0 || guest->rank >= root->ranks) {
        snprintf(refusal, size, "a process on host %s claims rank %d of a world of %d ranks",
                 guest->host, guest->rank, root->ranks);
        return STATUS_USAGE;
    }
    if (memcmp(root->digest, guest->digest, sizeof root->digest) != 0) {
        char theirs[200], ours[200];
        snprintf(refusal, size,
                 "rank %d on host %s was started with other options than rank 0: '%s' there, '%s' "
                 "at rank 0; give all the same",
                 guest->rank, guest->host,
                 difference(guest->options, root->options, theirs, sizeof theirs),
                 difference(root->options, guest->options, ours, sizeof ours));
        return STATUS_USAGE;
    }
    return STATUS_OK;
}
