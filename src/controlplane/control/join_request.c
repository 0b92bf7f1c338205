/*
 * join_request.c - what a rank sends to join: version, rank, host and options; and whether it fits.
 *
 * The version stands first and keeps its place for ever, so that ranks of different versions can at
 * least tell each other that they are.
 */
#include "controlplane/control/control.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"

_Static_assert(sizeof(struct join_request) + 64 <= HANDSHAKE_HELLO_MOST,
               "a hello fits the handshake");

void join_request_fill(struct join_request *request, const struct membership *membership,
                       const char *options)
{
    memset(request, 0, sizeof *request);
    snprintf(request->version, sizeof request->version, "%s", CCTEST_VERSION);
    request->ranks = membership->ranks;
    request->rank = membership->rank;
    host_identify(&request->host);
    request->pid = getpid();
    crypto_generichash(request->digest, sizeof request->digest, (const unsigned char *)options,
                       strlen(options), NULL, 0);
    snprintf(request->options, sizeof request->options, "%s", options);
}

size_t join_request_encode(const struct join_request *request, unsigned char *bytes)
{
    struct bytes out = {0};
    bytes_put_text(&out, request->version);
    bytes_put_u32(&out, (uint32_t)request->ranks);
    bytes_put_u32(&out, (uint32_t)request->rank);
    bytes_put_text(&out, request->host.name);
    bytes_put_text(&out, request->host.boot);
    bytes_put_u64(&out, (uint64_t)request->pid);
    bytes_put(&out, request->digest, sizeof request->digest);
    bytes_put_text(&out, request->options);
    bytes_put_u32(&out, request->reason);
    unsigned char blob[ADDRESSES_BLOB_MOST];
    bytes_put(&out, blob, addresses_encode(&request->home, blob));
    size_t size = out.failed ? 0 : out.size;
    if (size > 0)
        memcpy(bytes, out.data, size);
    bytes_free(&out);
    return size;
}

bool join_request_decode(const void *bytes, size_t size, struct join_request *request)
{
    struct reader reader = {.at = bytes, .left = size};
    memset(request, 0, sizeof *request);
    read_text(&reader, request->version, sizeof request->version);
    if (reader.bad)
        return false;
    request->ranks = (int)read_u32(&reader);
    request->rank = (int)read_u32(&reader);
    read_text(&reader, request->host.name, sizeof request->host.name);
    /* What follows may be laid out in another way; even these are no more than a help then. */
    if (strcmp(request->version, CCTEST_VERSION) != 0)
        return true;
    read_text(&reader, request->host.boot, sizeof request->host.boot);
    request->pid = (long)read_u64(&reader);
    const unsigned char *digest = read_bytes(&reader, sizeof request->digest);
    if (digest)
        memcpy(request->digest, digest, sizeof request->digest);
    read_text(&reader, request->options, sizeof request->options);
    uint32_t reason = read_u32(&reader);
    request->reason = (enum join_reason)reason;
    return !reader.bad && reason < JOIN_REASONS &&
           addresses_decode(reader.at, reader.left, &request->home);
}

bool join_request_is_of(int rank, const void *hello, size_t size)
{
    struct join_request request;
    return join_request_decode(hello, size, &request) && request.rank == rank;
}

bool join_request_same(const struct join_request *a, const struct join_request *b)
{
    unsigned char home_a[ADDRESSES_BLOB_MOST], home_b[ADDRESSES_BLOB_MOST];
    size_t size = addresses_encode(&a->home, home_a);
    return a->rank == b->rank && a->pid == b->pid && host_same(&a->host, &b->host) &&
           addresses_encode(&b->home, home_b) == size && memcmp(home_a, home_b, size) == 0;
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
    struct text differing = text_in(part, size);
    size_t same = 0;
    while (text[same] && text[same] == other[same])
        same++;
    const char *differs = text + same;
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = option_length(text);
        if (option_among(text, length, other))
            continue;
        const char *begin = text;
        if (differs > text + 60 && differs < text + length)
            begin = differs - 30;
        text_add(&differing, "%s%s%.*s", differing.used ? " " : "", begin > text ? "..." : "",
                 (int)(text + length - begin), begin);
    }
    if (differing.used == size - 1)
        memcpy(part + size - 4, "...", 4);
    return differing.used ? part : "nothing";
}

enum status join_request_check(const struct join_request *root, const struct join_request *pending,
                               char *refusal, size_t size)
{
    if (strcmp(root->version, pending->version) != 0) {
        snprintf(refusal, size,
                 "rank %d on host %s runs cctest %s, rank 0 runs %s: install the same version "
                 "everywhere",
                 pending->rank, pending->host.name, pending->version, root->version);
        return STATUS_ERROR;
    }
    if (root->ranks != pending->ranks) {
        snprintf(refusal, size,
                 "rank %d on host %s was started for a world of %d ranks, rank 0 for one of %d: "
                 "give all the same --world",
                 pending->rank, pending->host.name, pending->ranks, root->ranks);
        return STATUS_USAGE;
    }
    if (pending->rank < 0 || pending->rank >= root->ranks) {
        snprintf(refusal, size, "a process on host %s claims rank %d of a world of %d ranks",
                 pending->host.name, pending->rank, root->ranks);
        return STATUS_USAGE;
    }
    if (memcmp(root->digest, pending->digest, sizeof root->digest) != 0) {
        char theirs[200], ours[200];
        snprintf(refusal, size,
                 "rank %d on host %s was started with other options than rank 0: '%s' there, '%s' "
                 "at rank 0; give all the same",
                 pending->rank, pending->host.name,
                 difference(pending->options, root->options, theirs, sizeof theirs),
                 difference(root->options, pending->options, ours, sizeof ours));
        return STATUS_USAGE;
    }
    return STATUS_OK;
}
