/*
 * messages.c - the content of a fleet's frames: encoded and decoded.
 */
#include "controlplane/agents/agents.h"

#include <math.h>
#include <string.h>

#define SECONDS_MOST 1e7
#define BEAT_LEAST   0.01 /* seconds: an agent has other things to do, */
#define BEAT_MOST    10.0 /* and looks between two heartbeats whether rank 0 is silent */

static void addresses_code(struct codec codec, struct address_list *list)
{
    unsigned char blob[ADDRESSES_BLOB_MOST] = {0};
    uint32_t size = codec.out ? (uint32_t)addresses_encode(list, blob) : 0;
    code_u32(codec, &size, 0, sizeof blob);
    code_bytes(codec, blob, size);
    if (codec.in)
        code_require(codec, addresses_decode(blob, size, list));
}

/* Times travel in whole microseconds. */
static void seconds_code(struct codec codec, double *seconds)
{
    uint64_t microseconds = (uint64_t)llround(fmin(fmax(*seconds, 0), SECONDS_MOST) * 1e6);
    code_u64(codec, &microseconds);
    *seconds = (double)microseconds * 1e-6;
    code_require(codec, *seconds <= SECONDS_MOST);
}

static void order_code(struct codec codec, struct order *order)
{
    code_int(codec, &order->agent, INT32_MIN, INT32_MAX);
    code_text(codec, order->stage, sizeof order->stage);
    code_u32(codec, &order->number, 0, UINT32_MAX);
    code_u32(codec, &order->job, 0, UINT32_MAX);
    code_int(codec, &order->rank, 0, JOB_RANKS_MOST - 1);
    code_int(codec, &order->ranks, order->rank + 1, JOB_RANKS_MOST);
    code_text(codec, order->root_host, sizeof order->root_host);
    addresses_code(codec, &order->root);
    code_require(codec, order->root.count > 0);
    seconds_code(codec, &order->seconds);
    code_text(codec, order->command, sizeof order->command);
}

void order_encode(const struct order *order, struct bytes *bytes)
{
    struct order sent = *order;
    order_code(codec_to(bytes), &sent);
}

bool order_decode(const void *data, size_t size, struct order *order)
{
    struct reader reader = {.at = data, .left = size};
    *order = (struct order){0};
    order_code(codec_from(&reader), order);
    return !reader.bad && reader.left == 0;
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

static void loss_code(struct codec codec, struct loss_message *loss)
{
    uint32_t ended = loss->ended;
    code_text(codec, loss->why, sizeof loss->why);
    code_u32(codec, &ended, 0, 1);
    loss->ended = ended;
}

void loss_encode(const struct loss_message *loss, struct bytes *bytes)
{
    struct loss_message sent = *loss;
    loss_code(codec_to(bytes), &sent);
}

bool loss_decode(const void *data, size_t size, struct loss_message *loss)
{
    struct reader reader = {.at = data, .left = size};
    *loss = (struct loss_message){.ended = false};
    loss_code(codec_from(&reader), loss);
    return !reader.bad && reader.left == 0;
}

int message_agent(const void *data, size_t size)
{
    struct reader reader = {.at = data, .left = size};
    int agent = (int)read_u32(&reader);
    return reader.bad ? -1 : agent;
}

void beat_encode(double seconds, struct bytes *bytes)
{
    seconds_code(codec_to(bytes), &seconds);
}

bool beat_decode(const void *data, size_t size, double *seconds)
{
    struct reader reader = {.at = data, .left = size};
    seconds_code(codec_from(&reader), seconds);
    return !reader.bad && reader.left == 0 && *seconds >= BEAT_LEAST && *seconds <= BEAT_MOST;
}

static void gaps_code(struct codec codec, struct host_gaps *gaps)
{
    code_u64(codec, &gaps->stops);
    code_u64(codec, &gaps->stopped_us);
    code_u64(codec, &gaps->unheard);
    code_u64(codec, &gaps->unheard_us);
}

void gaps_encode(const struct host_gaps *gaps, struct bytes *bytes)
{
    struct host_gaps sent = *gaps;
    gaps_code(codec_to(bytes), &sent);
}

bool gaps_decode(const void *data, size_t size, struct host_gaps *gaps)
{
    struct reader reader = {.at = data, .left = size};
    gaps_code(codec_from(&reader), gaps);
    return !reader.bad && reader.left == 0;
}

/* As code_text(), but its lines stay. It is zeroed. */
static void tail_code(struct codec codec, char tail[TAIL_MOST])
{
    uint32_t size = (uint32_t)strlen(tail);
    code_u32(codec, &size, 0, TAIL_MOST - 1);
    code_bytes(codec, tail, size);
    for (uint32_t i = 0; codec.in && i < size; i++)
        if (tail[i] != '\n' && ((unsigned char)tail[i] < ' ' || tail[i] == 127))
            tail[i] = '?';
}

/* Without the result. */
static void report_message_code(struct codec codec, struct report_message *report)
{
    uint32_t state = (unsigned char)report->end.state;
    code_u32(codec, &report->number, 0, UINT32_MAX);
    code_u32(codec, &report->job, 0, UINT32_MAX);
    code_u32(codec, &report->end.fate, WORKER_EXITED, WORKER_UNBORN);
    code_int(codec, &report->end.code, INT32_MIN, INT32_MAX);
    code_u32(codec, &state, 0, 127);
    report->end.state = (char)state;
    seconds_code(codec, &report->end.seconds);
    tail_code(codec, report->end.tail);
}

void report_message_encode(const struct report_message *report, struct bytes *bytes)
{
    struct report_message sent = *report;
    report_message_code(codec_to(bytes), &sent);
    bytes_put(bytes, report->result, report->size);
}

bool report_message_decode(const void *data, size_t size, struct report_message *report)
{
    struct reader reader = {.at = data, .left = size};
    *report = (struct report_message){0};
    report_message_code(codec_from(&reader), report);
    report->result = reader.at;
    report->size = reader.left;
    return !reader.bad;
}
