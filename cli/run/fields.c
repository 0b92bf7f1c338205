/*
 * fields.c - the words and numbers of a line: for each its key in JSON, and its columns in CSV and
 * in the table, but for the slowest group, which table.c names.
 */
#include "cli/run/internal.h"

#include <math.h>

#include "collective/formats/formats.h"

/* Puts a value into an object, and into CSV. NULL: not there. */
static void put(struct line_fields *fields, json_t *object, const char *key, json_t *value,
                const char *csv)
{
    if (object)
        json_object_set(object, key, value);
    if (fields)
        fields->items[fields->count++] = (struct line_field){.value = value, .csv = csv};
    else
        json_decref(value);
}

static void put_word(struct line_fields *fields, json_t *object, const char *key, const char *word,
                     const char *csv)
{
    put(fields, object, key, word ? json_string(word) : json_null(), csv);
    if (fields)
        fields->items[fields->count - 1].word = word;
}

/* NAN: none. `decimals`: in CSV. */
static void put_real(struct line_fields *fields, json_t *object, const char *key, double number,
                     const char *csv, int decimals)
{
    put(fields, object, key, isnan(number) ? json_null() : json_real(number), csv);
    if (fields)
        fields->items[fields->count - 1].csv_decimals = decimals;
}

/* Gives the value that was put last a column in the table, unless `title` is NULL. Not `known`:
 * this line has none. */
static void show(struct line_fields *fields, bool known, enum column_place place, const char *title,
                 const char *unit, int width, int decimals)
{
    if (!fields)
        return;
    struct line_field *field = &fields->items[fields->count - 1];
    field->is_known = known;
    field->place = place;
    field->title = title;
    field->unit = unit;
    field->width = width;
    field->decimals = decimals;
}

static json_t *statistics_json(struct line_fields *fields, const struct statistics *times,
                               bool is_timed)
{
    json_t *object = json_object();
    put_real(fields, object, "min", times->min, "min_us", 3);
    put_real(fields, object, "p50", times->p50, "p50_us", 3);
    show(fields, is_timed, PLACE_TIME, "p50", "us", 11, 2);
    put_real(fields, object, "mean", times->mean, "mean_us", 3);
    put_real(fields, object, "p90", times->p90, "p90_us", 3);
    put_real(fields, object, "p99", times->p99, "p99_us", 3);
    show(fields, is_timed, PLACE_TIME, fields && fields->has_p99 ? "p99" : NULL, "us", 11, 2);
    put_real(fields, object, "max", times->max, "max_us", 3);
    return object;
}

static json_t *interval_json(const struct median_interval *interval)
{
    if (interval->coverage == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "low_us", interval->low, "high_us",
                     interval->high, "level", MEDIAN_LEVEL, "coverage", interval->coverage,
                     "margin", median_interval_margin(interval), "reached",
                     median_interval_is_narrow(interval));
}

static json_t *modes_json(const struct modes *modes)
{
    if (modes->median[0] == 0)
        return json_null();
    json_t *both = json_array();
    for (int i = 0; i < 2; i++)
        json_array_append_new(
            both, json_pack("{s:f, s:f}", "median_us", modes->median[i], "share", modes->share[i]));
    return both;
}

static json_t *trend_json(const struct trend *trend)
{
    return trend->change == 0 ? json_null()
                              : json_pack("{s:f, s:f}", "change", trend->change, "z", trend->z);
}

void timing_put(struct line_fields *fields, json_t *line, const struct timing *timing,
                bool is_timed)
{
    const struct slowest_rank *slowest = &timing->slowest;
    json_object_set_new(line, "time_us", statistics_json(fields, &timing->time_us, is_timed));
    json_object_set_new(line, "device_time_us",
                        timing->device_us.max > 0 ? statistics_json(NULL, &timing->device_us, true)
                                                  : json_null());
    json_object_set_new(line, "median_interval", interval_json(&timing->p50_interval));
    json_object_set_new(line, "modes", modes_json(&timing->modes));
    json_object_set_new(line, "trend", trend_json(&timing->trend));
    put_real(fields, line, "algbw_GBps", timing->algbw, "algbw_GBps", 6);
    show(fields, timing->algbw > 0, PLACE_TIME, "algbw", "GB/s", 8, 3);
    put_real(fields, line, "busbw_GBps", timing->busbw, "busbw_GBps", 6);
    show(fields, timing->busbw > 0, PLACE_TIME, "busbw", "GB/s", 8, 3);
    json_object_set_new(line, "slowest",
                        slowest->rank < 0 ? json_null()
                                          : json_pack("{s:i, s:I}", "rank", slowest->rank,
                                                      "iterations", (json_int_t)slowest->times));
}

static json_t *traffic_paths(const uint64_t bytes[PATHS])
{
    json_t *paths = json_object();
    for (int p = 0; p < PATHS; p++)
        json_object_set_new(paths, path_names[p], json_integer((json_int_t)bytes[p]));
    return paths;
}

/* Bytes received each way over all transports, and the details of each transport. */
static void traffic_put(json_t *line, const struct result *result)
{
    uint64_t total[PATHS] = {0};
    json_t *details = json_object();
    for (int t = 0; t < TRANSPORTS_MOST && result->transport_names[t]; t++) {
        const struct traffic *traffic = &result->by_transport[t];
        for (int p = 0; p < PATHS; p++)
            total[p] += traffic->received[p];
        json_object_set_new(details, result->transport_names[t],
                            json_pack("{s:o, s:o, s:I, s:I}", "sent", traffic_paths(traffic->sent),
                                      "received", traffic_paths(traffic->received),
                                      "copied_sending", (json_int_t)traffic->copied_sending,
                                      "copied_receiving", (json_int_t)traffic->copied_receiving));
    }
    json_object_set_new(line, "bytes_by_path", traffic_paths(total));
    json_object_set_new(line, "traffic", details);
}

/* The collective, its algorithm, and what they work on. */
static void identity_put(struct line_fields *fields, json_t *line, const struct job *job,
                         const struct result *result)
{
    const struct candidate *candidate = &job->candidates[result->choice];
    const struct choice *choice = &candidate->choice;
    const struct collective *collective = candidate->collective;
    put_word(fields, line, "collective", collective->name, "collective");
    put_word(fields, NULL, NULL, candidate->text, "algorithm");
    json_object_set_new(line, "algorithm", json_string(choice->algorithm->name));
    json_object_set_new(line, "vendor", json_boolean(choice->algorithm->vendor != NULL));
    json_object_set_new(line, "algorithm_options", choice_json(choice));
    json_object_set_new(line, "auto",
                        candidate->why[0] ? json_string(candidate->why) : json_null());
    put_word(fields, line, "transport", result->transport, "transport");
    put_word(fields, line, "memory", job->memory->name, "memory");
    json_object_set_new(line, "copy", json_string(copy_names[job->copy]));
    put_word(fields, line, "datatype", candidate->datatype->name, "datatype");
    put_word(fields, line, "op", candidate->reduction ? candidate->reduction->name : NULL, "op");
    put_word(NULL, line, "counts", collective->counted ? job->counts_text : NULL, NULL);
    if (collective->rooted && result->root != ROOT_ALL)
        put(fields, line, "root", json_integer(result->root), "root");
    else
        put_word(fields, line, "root", collective->rooted ? "all" : NULL, "root");
}

/* The digits of the largest size: sizes that do not divide are rounded up, and counts may make the
 * buffer of one rank the larger. */
static int size_digits(const struct job *job)
{
    bool counted = job->candidates[0].collective->counted;
    return snprintf(NULL, 0, "%zu", job->largest + job->largest / 8) + 2 * counted;
}

/* A table of `cctest predict`: nothing runs. */
static bool is_prediction(const struct job *job)
{
    return job->model && !job->compares;
}

/* How much of it ran, and whether it was right. */
static void work_put(struct line_fields *fields, json_t *line, const struct job *job,
                     const struct result *result)
{
    const char *start = job->start == START_BARRIER ? "barrier" : "back-to-back";
    double margin = median_interval_margin(&result->timing.p50_interval);
    int digits = size_digits(job);
    bool is_sized = job->candidates[result->choice].collective->sized,
         is_sampled = job->iterations_auto;
    put(fields, line, "ranks", json_integer(result->ranks), "ranks");
    put(fields, line, "bytes", json_integer((json_int_t)result->bytes), "bytes");
    show(fields, is_sized, PLACE_SIZE, "size", "bytes", digits > 5 ? digits : 5, 0);
    put(fields, line, "count", json_integer((json_int_t)result->count), "count");
    show(fields, is_sized, PLACE_SIZE, "count", "elements", digits > 8 ? digits : 8, 0);
    put(fields, line, "in_place", json_boolean(job->in_place), "in_place");
    json_object_set_new(line, "executor", json_string(result->on_device ? "device" : "host"));
    put(fields, line, "iterations", json_integer(result->iterations), "iterations");
    show(fields, true, PLACE_SAMPLING, is_sampled ? "iters" : NULL, "", 9, 0);
    put_real(fields, NULL, NULL, margin * 100, NULL, 0);
    show(fields, true, PLACE_SAMPLING, is_sampled ? "+-%" : NULL, "of p50", 6, 1);
    put(fields, line, "checked", json_integer(result->checked), "checked");
    put(fields, line, "wrong", json_integer((json_int_t)result->wrong), "wrong");
    show(fields, result->checked > 0, PLACE_CHECK, is_prediction(job) ? NULL : "#wrong", "", 8, 0);
    put_word(fields, line, "start", start, "start");
    json_object_set_new(line, "channels",
                        result->channels ? json_integer(result->channels) : json_null());
    json_object_set_new(line, "engine", json_string(result->engine));
    put_word(NULL, line, "why_host", result->why_host[0] ? result->why_host : NULL, NULL);
}

/* When each step ends, as measured and as predicted. */
static json_t *steps_json(const struct result *result)
{
    json_t *steps = json_array();
    for (int s = 0; s < result->steps; s++)
        json_array_append_new(steps, json_pack("{s:f, s:f}", "measured_us",
                                               result->step_end[s].measured_us, "predicted_us",
                                               result->step_end[s].predicted_us));
    return steps;
}

/* The prediction of a model, and how far the line is from it. */
static void prediction_put(struct line_fields *fields, json_t *line, const struct job *job,
                           const struct result *result)
{
    double predicted = result->predicted_us > 0 ? result->predicted_us : NAN;
    bool known = result->predicted_us > 0 && result_is_timed(result), compares = job->compares;
    json_object_set_new(line, "predicted", json_boolean(result->is_predicted));
    put_real(fields, line, "predicted_us", predicted, NULL, 0);
    show(fields, known, PLACE_MODEL, compares ? "predicted" : NULL, "us", 11, 2);
    put_real(fields, NULL, NULL, result->timing.time_us.p50 / predicted, NULL, 0);
    show(fields, known, PLACE_MODEL, compares ? "measured/" : NULL, "predicted", 10, 2);
    if (result->predicted_us > 0 && result->steps > 0)
        json_object_set_new(line, "step_ends", steps_json(result));
    put(fields, line, "simulated_ranks",
        result->is_predicted ? json_integer(result->simulated_ranks) : json_null(), NULL);
    show(fields, true, PLACE_MODEL, job->model && !compares ? "simulated" : NULL, "ranks", 11, 0);
}

/* The groups of a split job in CSV and in the table. */
static void split_put(struct line_fields *fields, const struct job *job,
                      const struct result *result)
{
    bool is_split = job->split.kind != SPLIT_NONE, is_timed = result_is_timed(result);
    put(fields, NULL, NULL, json_integer(result->group_count), "groups");
    put_word(fields, NULL, NULL, result->slowest_name, "slowest");
    put_real(fields, NULL, NULL, result->median_us, "median_us", 3);
    show(fields, is_timed, PLACE_SPLIT, is_split ? "median" : NULL, "us", 11, 2);
    put_real(fields, NULL, NULL, result->fastest_us, "fastest_us", 3);
    show(fields, is_timed, PLACE_SPLIT, is_split ? "fastest" : NULL, "us", 11, 2);
}

void fields_open(struct line_fields *fields, const struct job *job, const struct result *result)
{
    const struct candidate *candidate = &job->candidates[result->choice];
    json_t *line = json_object();
    *fields = (struct line_fields){
        .line = line,
        .has_p99 = !is_prediction(job) &&
                   (job->iterations >= STATISTICS_P99_LEAST || job->iterations_auto)};
    identity_put(fields, line, job, result);
    work_put(fields, line, job, result);
    traffic_put(line, result);
    json_object_set_new(line, "round_trip", json_boolean(candidate->choice.algorithm->round_trip));
    timing_put(fields, line, &result->timing, result_is_timed(result));
    prediction_put(fields, line, job, result);
    put_word(fields, line, "ended", sampling_end_names[result->end], NULL);
    show(fields, true, PLACE_SAMPLING, job->iterations_auto ? "ended" : NULL, "by", 8, 0);
    put_word(fields, NULL, NULL, candidate->collective->counted ? job->counts_text : NULL,
             "counts");
    split_put(fields, job, result);
}

void fields_close(struct line_fields *fields)
{
    for (int i = 0; i < fields->count; i++)
        json_decref(fields->items[i].value);
    json_decref(fields->line);
}

const char *field_text(const struct line_field *field, int decimals, char text[FIELD_TEXT_MOST])
{
    const json_t *value = field->value;
    if (field->word || json_is_null(value))
        return field->word;
    if (json_is_real(value))
        snprintf(text, FIELD_TEXT_MOST, "%.*f", decimals, json_real_value(value));
    else if (json_is_integer(value))
        snprintf(text, FIELD_TEXT_MOST, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(text, FIELD_TEXT_MOST, "%s", json_is_true(value) ? "1" : "0");
    return text;
}
