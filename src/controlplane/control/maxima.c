/*
 * maxima.c - an array of words of each rank, whose element-wise maximum goes up the tree.
 */
#include "controlplane/control/internal.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

void maxima_encode(uint32_t number, int rank, const uint64_t *words, size_t count,
                   struct bytes *bytes)
{
    bytes_put_u32(bytes, number);
    bytes_put_u32(bytes, 1);
    bytes_put_u32(bytes, (uint32_t)rank);
    bytes_reserve(bytes, count * sizeof *words);
    for (size_t i = 0; i < count; i++)
        bytes_put_u64(bytes, words[i]);
}

bool maxima_decode(const void *data, size_t size, int ranks, struct maxima_message *message)
{
    struct reader reader = {.at = data, .left = size};
    message->number = read_u32(&reader);
    uint32_t count = read_u32(&reader);
    if (reader.bad || count == 0 || count > (uint32_t)ranks)
        return false;
    message->ranks = (int)count;
    message->rank = (struct reader){.at = reader.at, .left = count * sizeof(uint32_t)};
    for (int64_t i = 0, last = -1; i < message->ranks; i++) {
        uint32_t rank = read_u32(&reader);
        if (reader.bad || rank <= last || rank >= (uint32_t)ranks)
            return false;
        last = rank;
    }
    message->word = reader;
    return reader.left % sizeof(uint64_t) == 0;
}

void maxima_open(struct maxima *maxima, int ranks)
{
    *maxima = (struct maxima){.ranks = ranks, .has = new_array((size_t)ranks, sizeof *maxima->has)};
}

void maxima_close(struct maxima *maxima)
{
    free(maxima->has);
    free(maxima->words);
    *maxima = (struct maxima){0};
}

enum maxima_fit maxima_take(struct maxima *maxima, const struct maxima_message *message)
{
    struct reader rank = message->rank, word = message->word;
    size_t count = word.left / sizeof(uint64_t);
    if (maxima->held == 0) {
        maxima->words = new_array(count, sizeof *maxima->words);
        maxima->number = message->number;
        maxima->count = count;
    }
    if (maxima->number != message->number || maxima->count != count)
        return MAXIMA_DIFFER;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = read_u64(&word);
        maxima->words[i] = value > maxima->words[i] ? value : maxima->words[i];
    }
    for (int i = 0; i < message->ranks; i++) {
        bool *has = &maxima->has[read_u32(&rank)];
        maxima->held += !*has;
        *has = true;
    }
    return MAXIMA_TAKEN;
}

/* As a message. */
static void maxima_encode_held(const struct maxima *maxima, struct bytes *bytes)
{
    bytes_reserve(bytes, (size_t)maxima->held * sizeof(uint32_t) +
                             (maxima->count + 1) * sizeof *maxima->words);
    bytes_put_u32(bytes, maxima->number);
    bytes_put_u32(bytes, (uint32_t)maxima->held);
    for (int rank = 0; rank < maxima->ranks; rank++)
        if (maxima->has[rank])
            bytes_put_u32(bytes, (uint32_t)rank);
    for (size_t i = 0; i < maxima->count; i++)
        bytes_put_u64(bytes, maxima->words[i]);
}

void maxima_drop(struct maxima *maxima)
{
    memset(maxima->has, 0, (size_t)maxima->ranks * sizeof *maxima->has);
    free(maxima->words);
    maxima->words = NULL;
    maxima->held = 0;
}

/*
 * A relay reduces the maxima of the ranks behind it to one array.
 */
/* Are the words of all ranks here that come this way? */
static bool relay_has_maxima(const struct relay *relay)
{
    for (int rank = 1; rank < relay->maxima.ranks; rank++) {
        bool own = rank == relay->control->membership.rank;
        if (!relay->maxima.has[rank] &&
            (own || child_links_find(&relay->children, relay->behind[rank])))
            return false;
    }
    return true;
}

static void relay_send_maxima(struct relay *relay)
{
    struct bytes bytes = {0};
    maxima_encode_held(&relay->maxima, &bytes);
    maxima_drop(&relay->maxima);
    relay_send(relay, relay->control->membership.rank, FRAME_MAXIMA, bytes.data, bytes.size);
    bytes_free(&bytes);
}

/* The wait of the children began when the first of them came. */
static enum maxima_fit relay_hold_maxima(struct relay *relay, const struct maxima_message *message)
{
    if (relay->maxima.held == 0)
        relay->maxima_since = relay->control->helper.now;
    return maxima_take(&relay->maxima, message);
}

/* Words that do not fit together are rank 0's to judge. */
bool relay_take_maxima(struct relay *relay, const void *data, size_t size)
{
    struct maxima_message message;
    if (!maxima_decode(data, size, relay->control->membership.ranks, &message))
        return false;
    enum maxima_fit fit = relay_hold_maxima(relay, &message);
    if (fit == MAXIMA_DIFFER) {
        relay_send_maxima(relay);
        relay_hold_maxima(relay, &message);
    }
    return true;
}

void relay_tend_maxima(struct relay *relay)
{
    double since = relay->control->helper.now - relay->maxima_since;
    if (relay->maxima.held > 0 && (relay_has_maxima(relay) || since > relay->control->heartbeat))
        relay_send_maxima(relay);
}
