/*
 * samples.c - the samples of a line: how many there are, the raw rows, and the times of steps.
 */
#include "run/results/internal.h"

#include "base/log.h"

#include <stdlib.h>

/*
 * How many iterations of a line are timed, and why no more.
 */
#define WORTH_WHILE 8 /* a batch adds at least one iteration to so many */

const char *const sampling_end_names[SAMPLING_ENDS] = {
    [SAMPLING_COUNT] = "count",
    [SAMPLING_INTERVAL] = "interval",
    [SAMPLING_BUDGET] = "budget",
    [SAMPLING_MOST] = "most",
};

/* The next multiple. */
static long multiple_of(long roots, long count)
{
    return (count + roots - 1) / roots * roots;
}

long sampling_first(const struct job *job, int roots)
{
    long first = multiple_of(roots, MEDIAN_SAMPLES_LEAST);
    return job->iterations_auto && first < job->iterations ? first : job->iterations;
}

long sampling_next(const struct job *job, int roots, long done, double seconds,
                   const struct median_interval *interval, enum sampling_end *end)
{
    long left = job->iterations - done;
    double affordable =
        seconds > 0 ? (job->budget - seconds) / seconds * (double)done : (double)left;
    long least = multiple_of(roots, 1 + done / WORTH_WHILE);
    *end = median_interval_is_narrow(interval) ? SAMPLING_INTERVAL
           : left == 0                         ? SAMPLING_MOST
           : affordable < (double)least        ? SAMPLING_BUDGET
                                               : SAMPLING_COUNT;
    if (*end != SAMPLING_COUNT)
        return 0;
    long most = done < left ? done : left;
    return affordable < (double)most ? (long)affordable / roots * roots : most;
}

/*
 * The raw samples of a line, on request.
 */
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
                               const struct rank_result *rank_result, struct report *report,
                               const struct tick *tick)
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
        if (status == STATUS_OK)
            status = report_check_read(report, tick);
    }
    free(part.rows);
    return status;
}

/*
 * When the steps of a line end on a rank.
 */
struct step_times {
    const struct step_clock *clock;
    size_t count, most; /* iterations */
    uint64_t *since;    /* ns from the release to the end: `most` of each step */
};

enum status step_times_create(const struct step_clock *clock, struct step_times **made)
{
    *made = NULL;
    if (clock->steps == 0)
        return STATUS_OK;
    size_t most = STEP_TIMES_BYTES / ((size_t)clock->steps * sizeof(uint64_t));
    struct step_times *times = malloc(sizeof *times);
    uint64_t *since = calloc((size_t)clock->steps * most, sizeof *since);
    if (!times || !since) {
        free(times);
        free(since);
        return fail(STATUS_ERROR, "out of memory for the times of %d steps", clock->steps);
    }
    *times = (struct step_times){.clock = clock, .most = most, .since = since};
    *made = times;
    return STATUS_OK;
}

void step_times_free(struct step_times *times)
{
    if (times)
        free(times->since);
    free(times);
}

void step_times_note(struct step_times *times, uint64_t released)
{
    if (!times || times->count == times->most)
        return;
    for (int s = 0; s < times->clock->steps; s++) {
        uint64_t ended = times->clock->ended[s];
        times->since[(size_t)s * times->most + times->count] =
            ended > released ? ended - released : 0;
    }
    times->count++;
}

int step_times_count(const struct step_times *times)
{
    return times ? times->clock->steps : 0;
}

double step_times_median(struct step_times *times, int step, const struct tick *tick)
{
    uint64_t *samples = times->since + (size_t)step * times->most;
    if (times->count == 0)
        return 0;
    times_sort(samples, times->count, tick);
    return (double)samples[times->count / 2] / 1000;
}
