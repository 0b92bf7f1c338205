/*
 * sample_rows.c - the raw samples of a line, on request.
 */
#include "run/results/results.h"

#include <stdlib.h>

#include "base/log.h"
#include "controlplane/control/control.h"

#define SAMPLE_BYTES 24     /* of one, as it travels */
#define ROWS_MOST    100000 /* of all ranks together in a part, if each rank has one */

/* One part at rank 0: iteration by iteration, each of all ranks. */
struct sample_part {
    long first, count; /* iterations */
    int ranks;
    struct sample_row *rows;
};

static bool part_decode(void *argument, int rank, struct reader *reader)
{
    const struct sample_part *part = argument;
    for (long i = 0; i < part->count; i++) {
        struct sample_row *row = &part->rows[i * part->ranks + rank];
        row->rank = rank;
        row->iteration = part->first + i;
        row->duration = read_u64(reader);
        row->late = read_u64(reader);
        row->device = read_u64(reader);
    }
    return true;
}

static enum status part_gather(struct control *control, const struct rank_result *rank_result,
                               struct sample_part *part)
{
    struct bytes share = {0};
    bytes_reserve(&share, (size_t)part->count * SAMPLE_BYTES);
    for (long i = part->first; i < part->first + part->count; i++) {
        bytes_put_u64(&share, rank_result->samples[i]);
        bytes_put_u64(&share, rank_result->late[i]);
        bytes_put_u64(&share, rank_result->device_samples ? rank_result->device_samples[i] : 0);
    }
    return exchange_decode(control, EXCHANGE_GATHER, &share, "sample", part_decode, part);
}

/* Iterations in a part. */
static long part_most(int ranks)
{
    return ranks < ROWS_MOST ? ROWS_MOST / ranks : 1;
}

size_t sample_rows_bytes(const struct job *job, int ranks)
{
    const long most = part_most(ranks), count = job->iterations < most ? job->iterations : most;
    return (size_t)count * (size_t)ranks * (sizeof(struct sample_row) + SAMPLE_BYTES);
}

enum status sample_rows_report(struct control *control, const struct job *job,
                               const struct rank_result *rank_result, struct report *report)
{
    struct sample_part part = {.ranks = control_ranks(control)};
    const long most = part_most(part.ranks);
    part.rows = calloc((size_t)most * (size_t)part.ranks, sizeof *part.rows);
    enum status status =
        part.rows ? STATUS_OK : fail(STATUS_ERROR, "out of memory for %ld samples", most);
    const struct line_name line = {
        rank_result->choice, collective_bytes(&rank_result->problem,
                                              job->candidates[rank_result->choice].datatype->size)};
    for (; part.first < rank_result->iterations && status == STATUS_OK; part.first += part.count) {
        long left = rank_result->iterations - part.first;
        part.count = left < most ? left : most;
        status = part_gather(control, rank_result, &part);
        if (status == STATUS_OK && report && report->samples)
            report->samples(report, job, &line, part.rows, (size_t)part.count * (size_t)part.ranks);
    }
    free(part.rows);
    return status;
}
