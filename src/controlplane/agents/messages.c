/*
 * messages.c - the content of a fleet's frames: encoded and decoded.
 */
#include "controlplane/agents/agents.h"

#include <math.h>
#include <string.h>

#define SECONDS_MOST 1e7

static void put_addresses(struct bytes *bytes, const struct address_list *list)
{
    unsigned char blob[ADDRESSES_BLOB_MOST];
    size_t size = addresses_encode(list, blob);
    bytes_put_u32(bytes, (uint32_t)size);
    bytes_put(bytes, blob, size);
}

static bool read_addresses(struct reader *reader, struct address_list *list)
{
    uint32_t size = read_u32(reader);
    const unsigned char *blob = size <= ADDRESSES_BLOB_MOST ? read_bytes(reader, size) : NULL;
    return blob && addresses_decode(blob, size, list);
}

/* Times travel in whole microseconds. */
static void put_seconds(struct bytes *bytes, double seconds)
{
    bytes_put_u64(bytes, (uint64_t)llround(fmin(fmax(seconds, 0), SECONDS_MOST) * 1e6));
}

static bool read_seconds(struct reader *reader, double *seconds)
{
    *seconds = (double)read_u64(reader) * 1e-6;
    return *seconds <= SECONDS_MOST;
}

void order_encode(const struct order *order, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)order->agent);
    bytes_put_text(bytes, order->stage);
    bytes_put_u32(bytes, order->number);
    bytes_put_u32(bytes, order->job);
    bytes_put_u32(bytes, (uint32_t)order->rank);
    bytes_put_u32(bytes, (uint32_t)order->ranks);
    bytes_put_text(bytes, order->root_host);
    put_addresses(bytes, &order->root);
    put_seconds(bytes, order->seconds);
    bytes_put_text(bytes, order->command);
}

bool order_decode(const void *data, size_t size, struct order *order)
{
    struct reader reader = {.at = data, .left = size};
    *order = (struct order){.agent = (int)read_u32(&reader)};
    read_text(&reader, order->stage, sizeof order->stage);
    order->number = read_u32(&reader);
    order->job = read_u32(&reader);
    order->rank = (int)read_u32(&reader);
    order->ranks = (int)read_u32(&reader);
    read_text(&reader, order->root_host, sizeof order->root_host);
    bool good = read_addresses(&reader, &order->root) && read_seconds(&reader, &order->seconds);
    read_text(&reader, order->command, sizeof order->command);
    return good && !reader.bad && reader.left == 0 && order->rank >= 0 &&
           order->rank < order->ranks && order->ranks <= JOB_RANKS_MOST && order->root.count > 0;
}

void cancel_encode(int agent, uint32_t number, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)agent);
    bytes_put_u32(bytes, number);
}

bool cancel_decode(const void *data, size_t size, uint32_t *number)
{
    struct reader reader = {.at = data, .left = size};
    read_u32(&reader);
    *number = read_u32(&reader);
    return !reader.bad && reader.left == 0;
}

int message_agent(const void *data, size_t size)
{
    struct reader reader = {.at = data, .left = size};
    int agent = (int)read_u32(&reader);
    return reader.bad ? -1 : agent;
}

/* As read_text(), but its lines stay. */
static bool read_tail(struct reader *reader, char tail[TAIL_MOST])
{
    uint32_t size = read_u32(reader);
    const unsigned char *bytes = size < TAIL_MOST ? read_bytes(reader, size) : NULL;
    for (uint32_t i = 0; i < size && bytes; i++)
        tail[i] = (char)(bytes[i] == '\n' || (bytes[i] >= ' ' && bytes[i] != 127) ? bytes[i] : '?');
    return bytes || size == 0;
}

void report_message_encode(const struct report_message *report, struct bytes *bytes)
{
    bytes_put_u32(bytes, report->number);
    bytes_put_u32(bytes, report->job);
    bytes_put_u32(bytes, report->end.fate);
    bytes_put_u32(bytes, (uint32_t)report->end.code);
    bytes_put_u32(bytes, (uint32_t)(unsigned char)report->end.state);
    put_seconds(bytes, report->end.seconds);
    bytes_put_text(bytes, report->end.tail);
    bytes_put(bytes, report->result, report->size);
}

bool report_message_decode(const void *data, size_t size, struct report_message *report)
{
    struct reader reader = {.at = data, .left = size};
    *report = (struct report_message){.number = read_u32(&reader), .job = read_u32(&reader)};
    uint32_t fate = read_u32(&reader);
    report->end.code = (int)read_u32(&reader);
    uint32_t state = read_u32(&reader);
    bool good = read_seconds(&reader, &report->end.seconds);
    good &= read_tail(&reader, report->end.tail);
    report->end.fate = (enum worker_fate)fate;
    report->end.state = (char)state;
    report->result = reader.at;
    report->size = reader.left;
    return good && !reader.bad && fate < WORKER_FATES && fate != WORKER_LOST && state < 128;
}
