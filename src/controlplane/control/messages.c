/*
 * messages.c - the content of the control plane's frames: encoded and decoded.
 */
#include "controlplane/control/control.h"

#include <stdlib.h>
#include <string.h>

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
    int *count = calloc((size_t)ranks, sizeof *count); /* of a node's ranks so far */
    bool good = count && read_u32(&reader) == (uint32_t)ranks;
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

void blobs_encode_count(int count, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)count);
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
    blobs->data = calloc((size_t)count, sizeof *blobs->data);
    blobs->size = calloc((size_t)count, sizeof *blobs->size);
    for (int i = 0; blobs->data && blobs->size && i < count; i++) {
        size_t length = read_u32(&reader);
        const unsigned char *bytes = read_bytes(&reader, length);
        if (!bytes)
            return false;
        if (length == 0)
            continue;
        blobs->data[i] = malloc(length);
        if (!blobs->data[i])
            return false;
        memcpy(blobs->data[i], bytes, length);
        blobs->size[i] = length;
    }
    return blobs->data && blobs->size && reader.left == 0;
}
