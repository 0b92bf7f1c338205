/*
 * messages.c - the content of the control plane's frames: encoded and decoded.
 */
#include "controlplane/control/control.h"

#include "base/list.h"
#include "base/text.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void failure_encode(const struct failure *failure, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)failure->status);
    bytes_put_u32(bytes, (uint32_t)failure->reason);
    bytes_put_u32(bytes, (uint32_t)failure->peer);
    bytes_put_text(bytes, failure->text);
}

bool failure_decode(const void *data, size_t size, int rank, int ranks, struct failure *failure)
{
    struct reader reader = {.at = data, .left = size};
    uint32_t status = read_u32(&reader), reason = read_u32(&reader);
    *failure = (struct failure){.status = status_of(status), .peer = (int)read_u32(&reader)};
    read_text(&reader, failure->text, sizeof failure->text);
    if (reader.bad || reader.left > 0 || failure->status == STATUS_OK || !failure->text[0] ||
        reason >= FAILURE_REASONS)
        return false;
    failure->reason = (enum failure_reason)reason;
    if (failure->reason == REASON_OWN)
        return failure->peer == NO_RANK;
    return failure->peer >= 0 && failure->peer < ranks && failure->peer != rank &&
           failure->status == failure_peer_status(failure->reason);
}

void notice_encode(const struct notice *notice, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)notice->status);
    bytes_put_u32(bytes, notice->personal);
    bytes_put_text(bytes, notice->text);
}

bool notice_decode(const void *data, size_t size, struct notice *notice)
{
    struct reader reader = {.at = data, .left = size};
    notice->status = status_of(read_u32(&reader));
    notice->personal = read_u32(&reader) != 0;
    read_text(&reader, notice->text, sizeof notice->text);
    return !reader.bad && reader.left == 0;
}

void members_encode(const struct member *members, int ranks, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)ranks);
    for (int rank = 0; rank < ranks; rank++) {
        bytes_put_text(bytes, members[rank].host);
        bytes_put_u64(bytes, (uint64_t)members[rank].pid);
        bytes_put_u32(bytes, (uint32_t)members[rank].node);
        bytes_put_u32(bytes, (uint32_t)members[rank].local_rank);
    }
}

/* Nodes are numbered as they appear, and so are the ranks of each: others build tables by it. */
bool members_decode(const void *data, size_t size, int ranks, struct member *members)
{
    struct reader reader = {.at = data, .left = size};
    int nodes = 0;
    int *count = new_array((size_t)ranks, sizeof *count); /* of a node's ranks so far */
    bool good = read_u32(&reader) == (uint32_t)ranks;
    for (int rank = 0; good && rank < ranks; rank++) {
        struct member *member = &members[rank];
        member->rank = rank;
        read_text(&reader, member->host, sizeof member->host);
        member->pid = (long)read_u64(&reader);
        member->node = (int)read_u32(&reader);
        member->local_rank = (int)read_u32(&reader);
        good = !reader.bad && member->node >= 0 && member->node <= nodes && member->node < ranks &&
               member->local_rank == count[member->node];
        if (good)
            nodes += count[member->node]++ == 0;
    }
    free(count);
    return good && reader.left == 0;
}

void snapshot_encode(const struct progress_snapshot *snapshot, struct bytes *bytes)
{
    const int small[] = {snapshot->phase, snapshot->collective, snapshot->algorithm,
                         snapshot->stage, snapshot->operation,  snapshot->kind,
                         snapshot->peer,  snapshot->lane,       snapshot->step};
    const uint64_t large[] = {snapshot->progress, snapshot->bytes, (uint64_t)snapshot->iteration,
                              snapshot->done, snapshot->length};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        bytes_put_u32(bytes, (uint32_t)small[i]);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        bytes_put_u64(bytes, large[i]);
}

bool snapshot_decode(const void *data, size_t size, struct progress_snapshot *snapshot)
{
    struct reader reader = {.at = data, .left = size};
    int *const small[] = {&snapshot->phase, &snapshot->collective, &snapshot->algorithm,
                          &snapshot->stage, &snapshot->operation,  &snapshot->kind,
                          &snapshot->peer,  &snapshot->lane,       &snapshot->step};
    uint64_t iteration = 0;
    uint64_t *const large[] = {&snapshot->progress, &snapshot->bytes, &iteration, &snapshot->done,
                               &snapshot->length};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        *small[i] = (int)read_u32(&reader);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        *large[i] = read_u64(&reader);
    snapshot->iteration = (int64_t)iteration;
    return !reader.bad && reader.left == 0;
}

void redirect_encode(const struct redirect *redirect, struct bytes *bytes)
{
    unsigned char blob[ADDRESSES_BLOB_MOST];
    bytes_put_u32(bytes, (uint32_t)redirect->parent);
    bytes_put(bytes, blob, addresses_encode(&redirect->home, blob));
}

bool redirect_decode(const void *data, size_t size, int ranks, struct redirect *redirect)
{
    struct reader reader = {.at = data, .left = size};
    redirect->parent = (int)read_u32(&reader);
    return !reader.bad && redirect->parent >= 0 && redirect->parent < ranks &&
           addresses_decode(reader.at, reader.left, &redirect->home);
}

void share_encode(const struct share *share, struct bytes *bytes)
{
    bytes_put_u32(bytes, share->kind);
    bytes_put_u32(bytes, share->number);
    bytes_put(bytes, share->data, share->size);
}

bool share_decode(const void *data, size_t size, struct share *share)
{
    struct reader reader = {.at = data, .left = size};
    share->kind = read_u32(&reader);
    share->number = read_u32(&reader);
    share->data = reader.at;
    share->size = reader.left;
    return !reader.bad;
}

void delivery_encode(int to, const struct share *result, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)to);
    share_encode(result, bytes);
}

bool delivery_decode(const void *data, size_t size, int ranks, int *to, struct share *result)
{
    struct reader reader = {.at = data, .left = size};
    *to = (int)read_u32(&reader);
    return !reader.bad && *to > 0 && *to < ranks && share_decode(reader.at, reader.left, result);
}

void blobs_encode_next(const void *data, size_t size, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)size);
    bytes_put(bytes, data, size);
}

bool blobs_decode(const void *data, size_t size, int count, struct blobs *blobs)
{
    struct reader reader = {.at = data, .left = size};
    *blobs = (struct blobs){0};
    if (read_u32(&reader) != (uint32_t)count)
        return false;
    blobs->count = count;
    blobs->data = new_array((size_t)count, sizeof *blobs->data);
    blobs->size = new_array((size_t)count, sizeof *blobs->size);
    for (int i = 0; i < count; i++) {
        size_t length = read_u32(&reader);
        const unsigned char *bytes = read_bytes(&reader, length);
        if (!bytes)
            return false;
        if (length == 0)
            continue;
        blobs->data[i] = memcpy(new_array(length, 1), bytes, length);
        blobs->size[i] = length;
    }
    return reader.left == 0;
}

/*
 * The request of a rank to join: version, rank, host and options; and whether it fits.
 *
 * The version stands first and keeps its place for ever, so that ranks of different versions can at
 * least tell each other that they are.
 */
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
    size_t size = out.size;
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
    /* Another version may lay out the rest differently: even these are no more than a help then. */
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
 * if it is long: what a human wants to compare. "": none. */
static void difference(const char *text, const char *other, char *part, size_t size)
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
        struct text text = text_in(refusal, size);
        difference(pending->options, root->options, theirs, sizeof theirs);
        difference(root->options, pending->options, ours, sizeof ours);
        text_add(&text,
                 "rank %d on host %s was started with other options than rank 0: ", pending->rank,
                 pending->host.name);
        if (!theirs[0] && !ours[0])
            text_add(&text, "they differ behind their first %zu characters",
                     sizeof pending->options - 1);
        else if (theirs[0] && ours[0])
            text_add(&text, "'%s' there, '%s' at rank 0", theirs, ours);
        else
            text_add(&text, "'%s' is missing %s", theirs[0] ? theirs : ours,
                     theirs[0] ? "at rank 0" : "there");
        text_add(&text, "; give all the same");
        return STATUS_USAGE;
    }
    return STATUS_OK;
}
