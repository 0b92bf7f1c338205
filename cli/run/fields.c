/*
 * fields.c - the words and numbers of a line. Each is one row of a table: its key in JSON, and its
 * columns in CSV and in the table for people, but for the slowest group, which table.c names.
 */
#include "cli/run/internal.h"

#include <math.h>

#include "cli/predict/predict.h"
#include "collective/formats/formats.h"

static struct table_line line_of(const struct job *job, const struct result *result)
{
    const struct candidate *candidate = &job->candidates[result->choice];
    const struct algorithm *algorithm = candidate->choice.algorithm;
    bool is_late = result->late_rank >= 0, is_split = job->split.kind != SPLIT_NONE;
    double predicted = result->predicted_us > 0 ? result->predicted_us : NAN;
    return (struct table_line){
        .result = *result,
        .job = job,
        .candidate = candidate,
        .collective = candidate->collective->name,
        .algorithm = algorithm->name,
        .text = candidate->text,
        .why_auto = candidate->why,
        .memory = job->memory->name,
        .copy = copy_names[job->copy],
        .datatype = candidate->datatype->name,
        .op = candidate->reduction ? candidate->reduction->name : NULL,
        .counts = candidate->collective->counted ? job->counts_text : NULL,
        .start = job->start == START_BARRIER ? "barrier" : "back-to-back",
        .executor = result->on_device ? "device" : "host",
        .vendor = algorithm->vendor != NULL,
        .round_trip = algorithm->round_trip,
        .in_place = job->in_place,
        .channels = result->channels ? result->channels : NONE,
        .simulated_ranks = result->is_predicted ? result->simulated_ranks : NONE,
        .late_rank = is_late ? result->late_rank : NONE,
        .slowest_group = is_split ? result->slowest_group : NONE,
        .median_group = is_split ? result->median_group : NONE,
        .fastest_group = is_split ? result->fastest_group : NONE,
        .late_us = is_late ? result->late_us : NAN,
        .predicted_us = predicted,
        .ratio = result->timing.time_us.p50 / predicted,
        .margin = median_interval_margin(&result->timing.p50_interval) * 100,
    };
}

/*
 * The columns that the table has, and what it knows.
 */
/* A table of `cctest predict`: nothing runs. */
static bool is_prediction(const struct table_line *line)
{
    return line->job->model && !line->job->compares;
}

static bool compares(const struct table_line *line)
{
    return line->job->compares;
}

static bool runs(const struct table_line *line)
{
    return !is_prediction(line);
}

static bool has_p99(const struct table_line *line)
{
    const struct job *job = line->job;
    return runs(line) && (job->iterations >= STATISTICS_P99_LEAST || job->iterations_auto);
}

static bool samples_itself(const struct table_line *line)
{
    return line->job->iterations_auto;
}

static bool is_split(const struct table_line *line)
{
    return line->job->split.kind != SPLIT_NONE;
}

static bool is_timed(const struct table_line *line)
{
    return result_is_timed(&line->result);
}

static bool is_checked(const struct table_line *line)
{
    return line->result.checked > 0;
}

static bool is_sized(const struct table_line *line)
{
    return line->candidate->collective->sized;
}

static bool has_algbw(const struct table_line *line)
{
    return line->result.timing.algbw > 0;
}

static bool has_busbw(const struct table_line *line)
{
    return line->result.timing.busbw > 0;
}

static bool is_comparable(const struct table_line *line)
{
    return line->result.predicted_us > 0 && is_timed(line);
}

/* The digits of the largest size: sizes that do not divide are rounded up, and counts may make the
 * buffer of one rank the larger. */
static int size_digits(const struct table_line *line)
{
    const struct job *job = line->job;
    bool counted = job->candidates[0].collective->counted;
    return snprintf(NULL, 0, "%zu", job->largest + job->largest / 8) + 2 * counted;
}

/* The columns of a row. */
#define CSV(...)                                                                                   \
    .column = &(const struct line_column)                                                          \
    {                                                                                              \
        .csv = __VA_ARGS__                                                                         \
    }
#define COLUMN(...)                                                                                \
    .column = &(const struct line_column)                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/*
 * Times.
 */
const struct json_field times_fields[] = {
    {"min", "microseconds", "the least time", JSON_MEMBER(struct statistics, min),
     CSV("min_us", .csv_decimals = 3)},
    {"p50", "microseconds", "the median", JSON_MEMBER(struct statistics, p50),
     COLUMN(.csv = "p50_us", .csv_decimals = 3, .place = PLACE_TIME, .title = "p50", .unit = "us",
            .width = 11, .decimals = 2, .is_known = is_timed)},
    {"mean", "microseconds", "the mean time", JSON_MEMBER(struct statistics, mean),
     CSV("mean_us", .csv_decimals = 3)},
    {"p90", "microseconds", "the 90th percentile", JSON_MEMBER(struct statistics, p90),
     CSV("p90_us", .csv_decimals = 3)},
    {"p99", "microseconds?", "the 99th percentile; null: fewer than 100 iterations were timed",
     JSON_MEMBER(struct statistics, p99),
     COLUMN(.csv = "p99_us", .csv_decimals = 3, .place = PLACE_TIME, .title = "p99", .unit = "us",
            .width = 11, .decimals = 2, .is_there = has_p99, .is_known = is_timed)},
    {"max", "microseconds", "the greatest time", JSON_MEMBER(struct statistics, max),
     CSV("max_us", .csv_decimals = 3)},
    {0},
};

static json_t *level_make(const void *object, const void *context)
{
    (void)object, (void)context;
    return json_real(MEDIAN_LEVEL);
}

static json_t *margin_make(const void *interval, const void *context)
{
    (void)context;
    return json_real(median_interval_margin(interval));
}

static json_t *reached_make(const void *interval, const void *context)
{
    (void)context;
    return json_boolean(median_interval_is_narrow(interval));
}

const struct json_field median_interval_fields[] = {
    {"low_us", "microseconds", "lower end of the interval",
     JSON_MEMBER(struct median_interval, low)},
    {"high_us", "microseconds", "upper end of the interval",
     JSON_MEMBER(struct median_interval, high)},
    {"level", "level", "probability that was asked for", JSON_MADE(level_make)},
    {"coverage", "coverage", "the exact probability",
     JSON_MEMBER(struct median_interval, coverage)},
    {"margin", "amount", "how far it reaches from the p50, as a share of it",
     JSON_MADE(margin_make)},
    {"reached", "boolean", "is the margin within 2%?", JSON_MADE(reached_make)},
    {0},
};

struct mode {
    double median, share;
};

const struct json_field mode_fields[] = {
    {"median_us", "microseconds", "median of the times that gather there",
     JSON_MEMBER(struct mode, median)},
    {"share", "share", "of the iterations, 0 to 1", JSON_MEMBER(struct mode, share)},
    {0},
};

const struct json_field trend_fields[] = {
    {"change", "change",
     "of the median from the first third of the iterations to the last, as a share of the first",
     JSON_MEMBER(struct trend, change)},
    {"z", "number", "of the test of Mann and Kendall", JSON_MEMBER(struct trend, z)},
    {0},
};

const struct json_field slowest_rank_fields[] = {
    {"rank", "rank", NULL, JSON_MEMBER(struct slowest_rank, rank)},
    {"iterations", "positive", "iterations in which it was the slowest",
     JSON_MEMBER(struct slowest_rank, times)},
    {0},
};

json_t *object_or_null(bool is_there, const struct json_field *fields, const void *object,
                       const void *context)
{
    return is_there ? json_object_of(fields, object, context) : json_null();
}

static json_t *device_time_make(const void *object, const void *context)
{
    const struct timing *timing = object;
    return object_or_null(timing->device_us.max > 0, times_fields, &timing->device_us, context);
}

static json_t *interval_make(const void *object, const void *context)
{
    const struct median_interval *interval = &((const struct timing *)object)->p50_interval;
    return object_or_null(interval->coverage > 0, median_interval_fields, interval, context);
}

static json_t *modes_make(const void *object, const void *context)
{
    const struct modes *modes = &((const struct timing *)object)->modes;
    const struct mode both[2] = {{modes->median[0], modes->share[0]},
                                 {modes->median[1], modes->share[1]}};
    if (modes->median[0] == 0)
        return json_null();
    return json_list_of(mode_fields, both, sizeof *both, 2, context);
}

static json_t *trend_make(const void *object, const void *context)
{
    const struct trend *trend = &((const struct timing *)object)->trend;
    return object_or_null(trend->change != 0, trend_fields, trend, context);
}

static json_t *slowest_make(const void *object, const void *context)
{
    const struct slowest_rank *slowest = &((const struct timing *)object)->slowest;
    return object_or_null(slowest->rank >= 0, slowest_rank_fields, slowest, context);
}

/* The times of a line, or of one of its groups. */
static const struct json_field timing_fields[] = {
    {"time_us", "times", "of an iteration on its slowest rank",
     JSON_INNER(struct timing, time_us, times_fields)},
    {"device_time_us", "times?", "the same by the clock of the GPU, or null",
     JSON_MADE(device_time_make)},
    {"median_interval", "median_interval?", "interval of the p50", JSON_MADE(interval_make)},
    {"modes", "[mode]{2,2}?", "two values around which times gather, the faster first, or null",
     JSON_MADE(modes_make)},
    {"trend", "trend?", "of the times over the iterations, or null", JSON_MADE(trend_make)},
    {"algbw_GBps", "rate", "bytes by the p50; 0: nothing was timed",
     JSON_MEMBER(struct timing, algbw),
     COLUMN(.csv = "algbw_GBps", .csv_decimals = 6, .place = PLACE_TIME, .title = "algbw",
            .unit = "GB/s", .width = 8, .decimals = 3, .is_known = has_algbw)},
    {"busbw_GBps", "rate", "algbw times the collective's factor", JSON_MEMBER(struct timing, busbw),
     COLUMN(.csv = "busbw_GBps", .csv_decimals = 6, .place = PLACE_TIME, .title = "busbw",
            .unit = "GB/s", .width = 8, .decimals = 3, .is_known = has_busbw)},
    {"slowest", "slowest_rank?",
     "the rank that was the slowest most often, and in how many iterations; null: nothing was "
     "timed",
     JSON_MADE(slowest_make)},
    {0},
};

const struct json_field group_result_fields[] = {
    {"", JSON_SPREAD(struct group_result, timing, timing_fields)},
    {"wrong", "count", "wrong elements over the ranks of the group and checked iterations",
     JSON_MEMBER(struct group_result, wrong)},
    {0},
};

const struct json_field step_end_fields[] = {
    {"measured_us", "microseconds", "the median of iterations on that rank",
     JSON_MEMBER(struct step_end, measured_us)},
    {"predicted_us", "microseconds", "the same by the model",
     JSON_MEMBER(struct step_end, predicted_us)},
    {0},
};

/*
 * Bytes.
 */
struct path_bytes {
    uint64_t of[PATHS];
};

const struct json_field bytes_by_path_fields[] = {
    {"line", "count", "inside one cache line with their number",
     JSON_MEMBER(struct path_bytes, of[PATH_LINE])},
    {"bcopy", "count", "through slots of the receiver, or the socket",
     JSON_MEMBER(struct path_bytes, of[PATH_BCOPY])},
    {"zcopy", "count", "directly to the destination",
     JSON_MEMBER(struct path_bytes, of[PATH_ZCOPY])},
    {"ll", "count", "words of data and a flag", JSON_MEMBER(struct path_bytes, of[PATH_LL])},
    {0},
};

const struct json_field traffic_fields[] = {
    {"sent", "bytes_by_path", "bytes that were sent",
     JSON_INNER(struct traffic, sent, bytes_by_path_fields)},
    {"received", "bytes_by_path", "bytes that were received",
     JSON_INNER(struct traffic, received, bytes_by_path_fields)},
    {"copied_sending", "count", "bytes that were copied to send them",
     JSON_MEMBER(struct traffic, copied_sending)},
    {"copied_receiving", "count", "bytes that were copied to receive them",
     JSON_MEMBER(struct traffic, copied_receiving)},
    {0},
};

static json_t *received_make(const void *object, const void *context)
{
    const struct result *result = object;
    struct path_bytes total = {{0}};
    for (int t = 0; t < TRANSPORTS_MOST && result->transport_names[t]; t++)
        for (int p = 0; p < PATHS; p++)
            total.of[p] += result->by_transport[t].received[p];
    return json_object_of(bytes_by_path_fields, &total, context);
}

static json_t *traffic_make(const void *object, const void *context)
{
    const struct result *result = object;
    json_t *traffic = json_object();
    for (int t = 0; t < TRANSPORTS_MOST && result->transport_names[t]; t++)
        json_object_set_new(traffic, result->transport_names[t],
                            json_object_of(traffic_fields, &result->by_transport[t], context));
    return traffic;
}

/*
 * A line.
 */
static json_t *options_make(const void *line, const void *context)
{
    (void)context;
    return choice_json(&((const struct table_line *)line)->candidate->choice);
}

/* A rank; "all"; null: the collective has no root. */
static json_t *root_make(const void *object, const void *context)
{
    const struct table_line *line = object;
    (void)context;
    if (!line->candidate->collective->rooted)
        return json_null();
    return line->result.root == ROOT_ALL ? json_string("all") : json_integer(line->result.root);
}

static json_t *steps_make(const void *object, const void *context)
{
    const struct result *result = object;
    if (!(result->predicted_us > 0) || result->steps == 0)
        return NULL;
    return json_list_of(step_end_fields, result->step_end, sizeof *result->step_end,
                        (size_t)result->steps, context);
}

static json_t *groups_make(const void *object, const void *context)
{
    const struct table_line *line = object;
    if (!is_split(line))
        return NULL;
    return json_list_of(group_result_fields, line->result.groups, sizeof *line->result.groups,
                        (size_t)line->result.group_count, context);
}

static json_t *load_make(const void *result, const void *document)
{
    const struct link_load *load = ((const struct result *)result)->load;
    (void)document;
    return load ? load_json(load) : NULL;
}

static json_t *nics_make(const void *result, const void *document)
{
    (void)document;
    return readings_json("port", &((const struct result *)result)->devices);
}

static json_t *gpus_make(const void *result, const void *document)
{
    (void)document;
    return readings_json("GPU", &((const struct result *)result)->devices);
}

/* In the order of the columns. The context is the document. */
const struct json_field result_fields[] = {
    {"collective", "name", "name of the collective", JSON_MEMBER(struct table_line, collective),
     CSV("collective")},
    {"algorithm", "name", "name of the algorithm, without its options",
     JSON_MEMBER(struct table_line, algorithm)},
    {"", "name", "the algorithm with its options, as -a takes it",
     JSON_MEMBER(struct table_line, text), CSV("algorithm")},
    {"vendor", "boolean", "did a vendor's library run this line?",
     JSON_MEMBER(struct table_line, vendor)},
    {"algorithm_options", "algorithm_options", NULL, JSON_MADE(options_make)},
    {"auto", "name?", "why auto picked this algorithm; null: it was named",
     JSON_MEMBER(struct table_line, why_auto)},
    {"transport", "name",
     "that carried the messages; several are joined by a plus sign; self: nothing left a rank",
     JSON_MEMBER(struct table_line, result.transport), CSV("transport")},
    {"memory", "name", "kind of memory of the buffers", JSON_MEMBER(struct table_line, memory),
     CSV("memory")},
    {"copy", "copy", "as it was asked for", JSON_MEMBER(struct table_line, copy)},
    {"datatype", "name", "type of the elements", JSON_MEMBER(struct table_line, datatype),
     CSV("datatype")},
    {"op", "name?", "null: the collective does not reduce", JSON_MEMBER(struct table_line, op),
     CSV("op")},
    {"root", "root", NULL, JSON_MADE(root_make), CSV("root")},
    {"ranks", "positive", "their number", JSON_MEMBER(struct table_line, result.ranks),
     CSV("ranks")},
    {"bytes", "count", "of the larger buffer of a rank",
     JSON_MEMBER(struct table_line, result.bytes),
     COLUMN(.csv = "bytes", .place = PLACE_SIZE, .title = "size", .unit = "bytes", .width = 5,
            .widens = true, .is_known = is_sized)},
    {"count", "count",
     "elements of one block, or of the whole vector where the collective has no blocks",
     JSON_MEMBER(struct table_line, result.count),
     COLUMN(.csv = "count", .place = PLACE_SIZE, .title = "count", .unit = "elements", .width = 8,
            .widens = true, .is_known = is_sized)},
    {"in_place", "boolean", "do source and destination share memory?",
     JSON_MEMBER(struct table_line, in_place), CSV("in_place")},
    {"executor", "host|device", "what ran the line", JSON_MEMBER(struct table_line, executor)},
    {"iterations", "count", "timed ones", JSON_MEMBER(struct table_line, result.iterations),
     COLUMN(.csv = "iterations", .place = PLACE_SAMPLING, .title = "iters", .unit = "", .width = 9,
            .is_there = samples_itself)},
    {"", "amount", "half of the interval of the p50, in percent of it",
     JSON_MEMBER(struct table_line, margin),
     COLUMN(.place = PLACE_SAMPLING, .title = "+-%", .unit = "of p50", .width = 6, .decimals = 1,
            .is_there = samples_itself)},
    {"checked", "count", "checked iterations", JSON_MEMBER(struct table_line, result.checked),
     CSV("checked")},
    {"wrong", "count", "wrong elements over all ranks and checked iterations",
     JSON_MEMBER(struct table_line, result.wrong),
     COLUMN(.csv = "wrong", .place = PLACE_CHECK, .title = "#wrong", .unit = "", .width = 8,
            .is_there = runs, .is_known = is_checked)},
    {"start", "start", NULL, JSON_MEMBER(struct table_line, start), CSV("start")},
    {"channels", "positive?", "null: a vendor's library ran the line",
     JSON_MEMBER(struct table_line, channels)},
    {"engine", "name", "what moved the bytes: cpu, sm, ce, staged ...",
     JSON_MEMBER(struct table_line, result.engine)},
    {"why_host", "name?", "why the device did not run it, or null",
     JSON_MEMBER(struct table_line, result.why_host)},
    {"bytes_by_path", "bytes_by_path", "that all ranks received in this line",
     JSON_MADE(received_make)},
    {"traffic", "traffic_by_transport", "of all ranks together, by transport",
     JSON_MADE(traffic_make)},
    {"round_trip", "boolean",
     "does an iteration go there and back, so that half of its time is shown?",
     JSON_MEMBER(struct table_line, round_trip)},
    {"", JSON_SPREAD(struct table_line, result.timing, timing_fields)},
    {"predicted", "boolean", "do the times come from a model (cctest predict), without iterations?",
     JSON_MEMBER(struct table_line, result.is_predicted)},
    {"predicted_us", "microseconds?",
     "p50 by the model of --model; null: there is none, or it cannot tell",
     JSON_MEMBER(struct table_line, predicted_us),
     COLUMN(.place = PLACE_MODEL, .title = "predicted", .unit = "us", .width = 11, .decimals = 2,
            .is_there = compares, .is_known = is_comparable)},
    {"", "amount", "the p50 by the predicted one", JSON_MEMBER(struct table_line, ratio),
     COLUMN(.place = PLACE_MODEL, .title = "measured/", .unit = "predicted", .width = 10,
            .decimals = 2, .is_there = compares, .is_known = is_comparable)},
    {"step_ends", "[step_end]",
     "of a run with --model and -v: when each step ends, in microseconds from the release, on the "
     "rank that ends it last; 0: no rank has a part in it",
     JSON_OPTIONAL, JSON_MADE(steps_make)},
    {"simulated_ranks", "positive?",
     "of a predicted line; 1: rank 0 stands for all; null: it is not predicted",
     JSON_MEMBER(struct table_line, simulated_ranks),
     COLUMN(.place = PLACE_MODEL, .title = "simulated", .unit = "ranks", .width = 11,
            .is_there = is_prediction)},
    {"ended", "count|interval|budget|most",
     "why no more iterations were timed: their number, or with -n auto the interval, the budget or "
     "the most iterations",
     JSON_WORDS(struct table_line, result.end, sampling_end_names),
     COLUMN(.place = PLACE_SAMPLING, .title = "ended", .unit = "by", .width = 8,
            .is_there = samples_itself)},
    {"counts", "name?", "null: all blocks have one length", JSON_MEMBER(struct table_line, counts),
     CSV("counts")},
    {"", "count", "groups of --split", JSON_MEMBER(struct table_line, result.group_count),
     CSV("groups")},
    {"", "name?", "the slowest group of --split",
     JSON_MEMBER(struct table_line, result.slowest_name), CSV("slowest")},
    {"", "microseconds", "p50 of the median group",
     JSON_MEMBER(struct table_line, result.median_us),
     COLUMN(.csv = "median_us", .csv_decimals = 3, .place = PLACE_SPLIT, .title = "median",
            .unit = "us", .width = 11, .decimals = 2, .is_there = is_split, .is_known = is_timed)},
    {"", "microseconds", "p50 of the fastest group",
     JSON_MEMBER(struct table_line, result.fastest_us),
     COLUMN(.csv = "fastest_us", .csv_decimals = 3, .place = PLACE_SPLIT, .title = "fastest",
            .unit = "us", .width = 11, .decimals = 2, .is_there = is_split, .is_known = is_timed)},
    {"slowest_group", "count",
     "with --split: index of the group; time_us to slowest are of this one", JSON_OPTIONAL,
     JSON_MEMBER(struct table_line, slowest_group)},
    {"median_group", "count",
     "with --split: index of the group of the median p50; of two the faster", JSON_OPTIONAL,
     JSON_MEMBER(struct table_line, median_group)},
    {"fastest_group", "count", "with --split: index of the group with the least p50", JSON_OPTIONAL,
     JSON_MEMBER(struct table_line, fastest_group)},
    {"groups", "[group_result]{1,0}",
     "with --split: of each group, in the order of the run's groups", JSON_OPTIONAL,
     JSON_MADE(groups_make)},
    {"late_rank", "rank?", "a rank that begins long after the release, or null",
     JSON_MEMBER(struct table_line, late_rank)},
    {"late_us", "microseconds?", "microseconds after the release, median; null: no rank is late",
     JSON_MEMBER(struct table_line, late_us)},
    {"bottleneck", "bottleneck", "rank, link or hosts that account for the time, if any stand out",
     JSON_MADE(line_bottleneck)},
    {"losses", "[loss]{0,4}",
     "connections between hosts that lose packets beyond the others, up to four",
     JSON_MADE(line_losses)},
    {"delays", "[delay]{0,4}", "hosts that are farther away than the others, up to four",
     JSON_MADE(line_delays)},
    {"outliers", "outliers", "iterations that took far longer than the others",
     JSON_MADE(line_outliers)},
    {"samples", "[sample]", "one for each rank; empty: nothing was timed", JSON_MADE(line_samples)},
    {"faults", "[fault]{1,0}",
     "of wrong data, where it was searched for the places in which one altered value or lost "
     "message explains it",
     JSON_OPTIONAL, JSON_MADE(line_faults)},
    {"load", "load", "with --topology, at the largest size: load of the links", JSON_OPTIONAL,
     JSON_MADE(load_make)},
    {"profile", "[profile]", "with --profile, one for each rank", JSON_OPTIONAL,
     JSON_MADE(line_profile)},
    {"nics", "[reading]", "what the ports in use counted in this line", JSON_MADE(nics_make)},
    {"gpus", "[reading]", "what the GPUs in use counted in this line", JSON_MADE(gpus_make)},
    {0},
};

json_t *line_json(const struct job *job, const struct result *result, const json_t *document)
{
    const struct table_line line = line_of(job, result);
    return json_object_of(result_fields, &line, document);
}

/*
 * The cells of a line in CSV and in the table.
 */
static void cells_add(struct line_cells *cells, const struct table_line *line,
                      const struct json_field *fields, const void *object)
{
    for (const struct json_field *field = fields; field->key; field++) {
        const struct line_column *column = field->column;
        if (field->fields)
            cells_add(cells, line, field->fields, (const char *)object + field->offset);
        if (!column)
            continue;
        int least = column->widens ? size_digits(line) : 0;
        cells->items[cells->count++] = (struct line_cell){
            .column = column,
            .word = field->member == JSON_IS_WORD
                        ? *(const char *const *)((const char *)object + field->offset)
                        : NULL,
            .value = json_field_value(field, object, NULL),
            .is_there = column->title && (!column->is_there || column->is_there(line)),
            .is_known = !column->is_known || column->is_known(line),
            .width = column->width > least ? column->width : least,
        };
    }
}

void line_cells_open(struct line_cells *cells, const struct job *job, const struct result *result)
{
    const struct table_line line = line_of(job, result);
    cells->count = 0;
    cells_add(cells, &line, result_fields, &line);
}

void line_cells_close(struct line_cells *cells)
{
    for (int i = 0; i < cells->count; i++)
        json_decref(cells->items[i].value);
}

const char *cell_text(const struct line_cell *cell, int decimals, char text[CELL_TEXT_MOST])
{
    const json_t *value = cell->value;
    if (cell->word)
        return cell->word;
    if (!value || json_is_string(value) || json_is_null(value))
        return json_string_value(value);
    if (json_is_real(value))
        snprintf(text, CELL_TEXT_MOST, "%.*f", decimals, json_real_value(value));
    else if (json_is_integer(value))
        snprintf(text, CELL_TEXT_MOST, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(text, CELL_TEXT_MOST, "%s", json_is_true(value) ? "1" : "0");
    return text;
}
