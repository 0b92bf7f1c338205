/*
 * hello.c - what a rank says of itself when it joins, and whether rank 0 can work with it.
 *
 * The version stands first and keeps its place for ever, so that ranks of different versions can at
 * least tell each other that they are.
 */
#include "hello.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "host.h"

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
    if (strcmp(hello->version, CCTEST_VERSION) != 0) {
        /* What follows may be laid out in another way; the usual fields are a help if they are
         * there. */
        hello->ranks = (int)read_u32(&reader);
        hello->rank = (int)read_u32(&reader);
        read_text(&reader, hello->host, sizeof hello->host);
        return true;
    }
    hello->ranks = (int)read_u32(&reader);
    hello->rank = (int)read_u32(&reader);
    read_text(&reader, hello->host, sizeof hello->host);
    read_text(&reader, hello->boot, sizeof hello->boot);
    hello->pid = (long)read_u64(&reader);
    const unsigned char *digest = read_bytes(&reader, sizeof hello->digest);
    if (digest)
        memcpy(hello->digest, digest, sizeof hello->digest);
    read_text(&reader, hello->options, sizeof hello->options);
    return !reader.bad && reader.left == 0;
}

/* The part of `text` around its first difference from `other`: what a human wants to compare. */
static void difference(const char *text, const char *other, char *part, size_t size)
{
    size_t at = 0;
    while (text[at] && text[at] == other[at])
        at++;
    size_t begin = strlen(text) < size ? 0 : at > 30 ? at - 30 : 0;
    while (begin > 0 && begin < at && text[begin - 1] != ' ')
        begin++;
    int written = snprintf(part, size, "%s%s", begin > 0 ? "... " : "", text + begin);
    if (written >= (int)size)
        memcpy(part + size - 4, "...", 4);
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
        difference(guest->options, root->options, theirs, sizeof theirs);
        difference(root->options, guest->options, ours, sizeof ours);
        snprintf(refusal, size,
                 "rank %d on host %s was started with other options than rank 0: '%s' there, '%s' "
                 "at rank 0; give all the same",
                 guest->rank, guest->host, theirs, ours);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}
