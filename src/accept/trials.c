/*
 * trials.c - the small jobs of one stage, run in parallel, and their outcomes.
 */
#include "accept/internal.h"

#include "base/io/io.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_LEAST 1.0  /* second: that a job gets behind the end of its stage */
#define TIME_ENOUGH 0.45 /* of the time that jobs may take: what is still late then hangs */
#define TIME_PROMPT 0.5  /* of the time that they had: likewise where most have ended by then */

void trials_open(struct trials *trials, struct acceptance *acceptance, enum accept_stage stage)
{
    *trials = (struct trials){.acceptance = acceptance, .stage = stage, .memory = arena_create()};
}

void trials_add(struct trials *trials, const int *agents, int count, const char *format, ...)
{
    char command[COMMAND_MOST];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (strchr(command, ' ')) /* a command line */
        snprintf(command + used, sizeof command - (size_t)used, " --transport %s%s --seed %" PRIu64,
                 trials->transport ? trials->transport : trials->acceptance->job->transports_text,
                 trials->acceptance->options, trials->acceptance->seed);
    char *text = arena_new(trials->memory, strlen(command) + 1, 1);
    int *copy = arena_new(trials->memory, (size_t)count, sizeof *copy);
    memcpy(text, command, strlen(command));
    memcpy(copy, agents, (size_t)count * sizeof *copy);
    *LIST_ADD(trials->items, trials->count) =
        (struct fleet_job){.command = text, .agents = copy, .ranks = count};
}

/* ---- the result of a job ---- */

/* The last line of a worker's standard error. */
static const char *tail_line(char *tail)
{
    size_t length = strlen(tail);
    while (length > 0 && tail[length - 1] == '\n')
        tail[--length] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    return strncmp(line, "cctest: ", 8) == 0 ? line + 8 : line;
}

/* How badly a worker ended, compared with the others of its job: the worst is the reason. */
static enum reading_outcome worker_outcome(const struct worker_end *end)
{
    switch (end->fate) {
    case WORKER_EXITED:
        return end->code == STATUS_OK           ? READING_VALUE
               : end->code == STATUS_WRONG_DATA ? READING_WRONG
               : end->code == STATUS_TIMEOUT    ? READING_LATE
                                                : READING_ERROR;
    case WORKER_LATE:
    case WORKER_STUCK:
        return READING_LATE;
    case WORKER_UNBORN:
        return READING_ERROR;
    default:
        return READING_LOST;
    }
}

static void worker_words(const struct acceptance *acceptance, int agent, struct worker_end *end,
                         char *text, size_t size)
{
    const struct roster *roster = acceptance->roster;
    const char *host = roster->hosts[roster->agents[agent].host].name;
    switch (end->fate) {
    case WORKER_SIGNALED:
        snprintf(text, size, "the worker on %s was killed by SIG%s", host, sigabbrev_np(end->code));
        break;
    case WORKER_LATE:
        snprintf(text, size, "the worker on %s did not end in time%s", host,
                 end->state == 'T'   ? ": it was stopped"
                 : end->state == 'D' ? ": it hung in a system call"
                                     : "");
        break;
    case WORKER_STUCK:
        snprintf(text, size, "the worker on %s hangs in the kernel, which does not end it", host);
        break;
    case WORKER_UNBORN:
        snprintf(text, size, "no worker could be started on %s: %s", host, strerror(end->code));
        break;
    case WORKER_LOST:
        snprintf(text, size, "the agent on %s was lost", host);
        break;
    default:
        snprintf(text, size, "%s", tail_line(end->tail));
        if (!text[0])
            snprintf(text, size, "the worker on %s left no result", host);
    }
}

static void outcome_find(const struct acceptance *acceptance, const struct fleet_job *job,
                         struct fleet_outcome *from, struct trial *trial)
{
    trial->culprit = -1;
    trial->result = from->result; /* taken over */
    trial->size = from->size;
    from->result = NULL;
    if (trial->result && trial->result[0] == '{')
        trial->document = json_loadb(trial->result, trial->size, 0, NULL);
    bool wrong = strcmp(word_of(trial->document, "status"), status_word(STATUS_WRONG_DATA)) == 0;
    int worst = 0;
    for (int r = 0; r < job->ranks; r++)
        if (worker_outcome(&from->ends[r]) > worker_outcome(&from->ends[worst]))
            worst = r;
    trial->outcome = wrong ? READING_WRONG : worker_outcome(&from->ends[worst]);
    if (trial->outcome == READING_VALUE && !trial->document && strchr(job->command, ' '))
        trial->outcome = READING_ERROR;
    if (trial->outcome == READING_VALUE)
        return;
    const json_t *error = json_array_get(json_object_get(trial->document, "errors"), 0);
    const char *message = json_string_value(json_object_get(error, "message"));
    bool exited = from->ends[worst].fate == WORKER_EXITED; /* and the document says why */
    if (!exited && trial->outcome > READING_ERROR && trial->outcome != READING_WRONG)
        trial->culprit = job->agents[worst];
    if (message && (wrong || exited || trial->outcome == READING_ERROR))
        snprintf(trial->why, sizeof trial->why, "%s", message);
    else
        worker_words(acceptance, job->agents[worst], &from->ends[worst], trial->why,
                     sizeof trial->why);
}

/* ---- the run ---- */

const char *const reading_outcome_names[] = {[READING_VALUE] = "ok",
                                             [READING_ERROR] = "error",
                                             [READING_LATE] = "late",
                                             [READING_LOST] = "lost",
                                             [READING_WRONG] = "wrong-data"};

static json_t *job_hosts(const void *object, const void *context)
{
    const struct trials *trials = context;
    const struct fleet_job *job = &trials->items[(const struct trial *)object - trials->outcomes];
    json_t *hosts = json_array();
    for (int r = 0; r < job->ranks; r++)
        json_array_append_new(
            hosts, json_integer(trials->acceptance->roster->agents[job->agents[r]].host));
    return hosts;
}

static json_t *job_command(const void *object, const void *context)
{
    const struct trials *trials = context;
    return json_string(trials->items[(const struct trial *)object - trials->outcomes].command);
}

static json_t *job_results(const void *object, const void *context)
{
    const struct trial *trial = object;
    json_t *results = json_object_get(trial->document, "results");
    (void)context;
    return results ? json_incref(results) : json_null();
}

/* A job with the results of its stage: all but what is the same in every job. */
const struct json_field stage_job_fields[] = {
    {"hosts", "[host_index]{1,0}", "of each rank", JSON_MADE(job_hosts)},
    {"command", "name", "what it ran, as a command line", JSON_MADE(job_command)},
    {"outcome", "outcome", NULL, JSON_WORDS(struct trial, outcome, reading_outcome_names)},
    {"why", "string", "why it failed, or empty", JSON_MEMBER(struct trial, why)},
    {"results", "[job_result]?", "null: it left none", JSON_MADE(job_results)},
    {0},
};

static void trials_progress(void *argument, int ended, int count)
{
    struct trials *trials = argument;
    struct accept_report *report = trials->acceptance->report;
    report->running(report, trials->acceptance, trials->stage, ended, count);
}

static bool is_ended_late(const struct worker_end *end)
{
    return end->fate == WORKER_LATE || end->fate == WORKER_STUCK;
}

/* How long the slowest worker of a job ran; INFINITY: its time was over. */
static double job_seconds(const struct fleet_job *job, const struct fleet_outcome *outcome)
{
    double most = 0;
    for (int r = 0; r < job->ranks; r++)
        most = is_ended_late(&outcome->ends[r]) ? INFINITY : fmax(most, outcome->ends[r].seconds);
    return most;
}

/* Had most jobs ended long before the time of all was over? */
static bool most_are_prompt(const struct trials *trials, const struct fleet_outcome *outcomes,
                            double seconds)
{
    int prompt = 0;
    for (int j = 0; j < trials->count; j++)
        prompt += job_seconds(&trials->items[j], &outcomes[j]) <= TIME_PROMPT * seconds;
    return 2 * prompt > trials->count;
}

/* Is a worker of the job stopped, or does the kernel not end it? */
static bool is_stuck(const struct fleet_job *job, const struct fleet_outcome *outcome)
{
    bool is = false;
    for (int r = 0; r < job->ranks; r++)
        is |= outcome->ends[r].fate == WORKER_STUCK ||
              (outcome->ends[r].fate == WORKER_LATE && outcome->ends[r].state == 'T');
    return is;
}

/* The jobs had less than their time: late ones might have ended, so none is evidence against a
 * host. */
static void trials_cut(struct trials *trials, const struct fleet_outcome *outcomes)
{
    for (int j = 0; j < trials->count; j++) {
        struct trial *trial = &trials->outcomes[j];
        if (trial->outcome != READING_LATE ||
            job_seconds(&trials->items[j], &outcomes[j]) < INFINITY ||
            is_stuck(&trials->items[j], &outcomes[j]))
            continue;
        trial->cut = true;
        trial->culprit = -1;
        snprintf(trial->why, sizeof trial->why, "the time of its stage was over");
        if (!trials->aside)
            trials->acceptance->cut++;
    }
}

enum status trials_run(struct trials *trials, double seconds)
{
    struct acceptance *acceptance = trials->acceptance;
    struct fleet_outcome *outcomes = NULL;
    double left = fmax(stage_left(acceptance), TRIAL_LEAST);
    enum status status =
        coordinator_run(acceptance->coordinator, accept_stage_names[trials->stage], trials->items,
                        trials->count, fmin(seconds, left), trials_progress, trials, &outcomes);
    trials->outcomes = arena_new(trials->memory, (size_t)trials->count, sizeof *trials->outcomes);
    bool ran = outcomes && status == STATUS_OK;
    for (int j = 0; j < trials->count && ran; j++)
        outcome_find(acceptance, &trials->items[j], &outcomes[j], &trials->outcomes[j]);
    if (ran && left < TIME_ENOUGH * seconds && !most_are_prompt(trials, outcomes, left))
        trials_cut(trials, outcomes);
    for (int j = 0; j < trials->count && ran && !trials->aside; j++)
        json_array_append_new(acceptance->stages[acceptance->stage_count].jobs,
                              json_object_of(stage_job_fields, &trials->outcomes[j], trials));
    coordinator_outcomes_free(outcomes, trials->count);
    return status;
}

void trials_close(struct trials *trials)
{
    for (int j = 0; trials->outcomes && j < trials->count; j++) {
        json_decref(trials->outcomes[j].document);
        free(trials->outcomes[j].result);
    }
    free(trials->items);
    arena_free(trials->memory);
}

static bool line_has(const json_t *line, const char *name, const char *wanted)
{
    return !wanted || strcmp(word_of(line, name), wanted) == 0;
}

bool lines_are_alike(const json_t *line, const json_t *other)
{
    return line_has(line, "collective", word_of(other, "collective")) &&
           json_equal(json_object_get(line, "bytes"), json_object_get(other, "bytes"));
}

const json_t *trials_line(const struct trials *trials, int job, const char *collective,
                          const char *algorithm, size_t bytes)
{
    const json_t *results = json_object_get(trials->outcomes[job].document, "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *line = json_array_get(results, i);
        if (line_has(line, "collective", collective) && line_has(line, "algorithm", algorithm) &&
            (size_t)json_integer_value(json_object_get(line, "bytes")) >= bytes)
            return line;
    }
    return NULL;
}

double line_number(const json_t *line, const char *name)
{
    char part[64];
    const char *dot;
    while ((dot = strchr(name, '.'))) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
        line = json_object_get(line, part);
        name = dot + 1;
    }
    return json_number_value(json_object_get(line, name));
}

double line_core_wait(const json_t *line, int first, int count, int *rank)
{
    const double below_one = 0.99; /* what is measured in the rest of the time is too little */
    const json_t *samples = json_object_get(line, "samples");
    double most = 0;
    *rank = first;
    for (int r = first; r < first + count; r++) {
        double waited = line_number(json_array_get(samples, (size_t)r), "core_wait_share");
        if (waited > most) {
            most = waited;
            *rank = r;
        }
    }
    return fmin(most, below_one);
}

int trial_host(const struct trials *trials, int job)
{
    return trials->acceptance->roster->agents[trials->items[job].agents[0]].host;
}

/* A lost host has a finding of its own. */
static bool agent_is_lost(const struct roster *roster, int agent)
{
    return agent >= 0 && roster->hosts[roster->agents[agent].host].lost;
}

bool trial_is_evidence(const struct trials *trials, int job)
{
    const struct roster *roster = trials->acceptance->roster;
    const struct fleet_job *item = &trials->items[job];
    const struct trial *trial = &trials->outcomes[job];
    bool is_evidence = trial->outcome != READING_VALUE && !trial->cut;
    for (int r = 0; r < item->ranks; r++)
        is_evidence &= !agent_is_lost(roster, item->agents[r]);
    return is_evidence;
}

void trials_find_failure(const struct trials *trials, int job)
{
    struct acceptance *acceptance = trials->acceptance;
    const struct roster *roster = acceptance->roster;
    const struct trial *trial = &trials->outcomes[job];
    int host = trial->culprit >= 0 ? roster->agents[trial->culprit].host : -1;
    if (!trial->cut && !agent_is_lost(roster, trial->culprit))
        stage_finds(acceptance, trials->stage, outcome_kind(trial->outcome), host,
                    host < 0 ? HEALTH_GOOD : HEALTH_SUSPECT, outcome_status(trial->outcome),
                    "%s: a job of many good hosts fails: %s",
                    host < 0 ? "all" : acceptance->labels[host], trial->why);
}

void trials_refuse_port(const struct trials *trials, int job, const char *port, const char *whose)
{
    const struct acceptance *acceptance = trials->acceptance;
    const struct trial *trial = &trials->outcomes[job];
    bool meant = strcmp(acceptance->job->transports_text, "auto") != 0;
    stage_finds(trials->acceptance, trials->stage, meant ? FOUND_SETTING : FOUND_NOTE, -1,
                HEALTH_GOOD, meant ? outcome_status(trial->outcome) : STATUS_OK,
                "all hosts, %s: it is not measured, since most %s cannot use it: %s", port, whose,
                trial->why);
}

enum found_kind outcome_kind(enum reading_outcome outcome)
{
    return outcome == READING_WRONG ? FOUND_WRONG_DATA : FOUND_FAILED;
}

enum status outcome_status(enum reading_outcome outcome)
{
    switch (outcome) {
    case READING_VALUE:
        return STATUS_OK;
    case READING_WRONG:
        return STATUS_WRONG_DATA;
    case READING_ERROR:
        return STATUS_ERROR;
    default:
        return STATUS_TIMEOUT;
    }
}

/*
 * Why the jobs of a stage failed.
 */
#define KEY_MOST 320

static const char *key_make(const char *why, char key[KEY_MOST])
{
    int used = 0;
    for (const char *at = why; *at && used < KEY_MOST - 1; at++) {
        bool number =
            isdigit((unsigned char)*at) || (*at == '.' && used > 0 && key[used - 1] == '#');
        if (!number)
            key[used++] = *at;
        else if (used == 0 || key[used - 1] != '#')
            key[used++] = '#';
    }
    key[used] = '\0';
    return key;
}

void failed_jobs_add(struct failed_jobs *jobs, const char *why)
{
    char key[KEY_MOST];
    jobs->count++;
    if (!jobs->reasons)
        jobs->reasons = json_object();
    why = why[0] ? why : "no reason is known";
    json_t *reason = json_object_get(jobs->reasons, key_make(why, key));
    if (reason)
        json_integer_set(json_array_get(reason, 0),
                         json_integer_value(json_array_get(reason, 0)) + 1);
    else
        json_object_set_new(jobs->reasons, key, json_pack("[i, s]", 1, why));
}

void failed_jobs_put(const struct failed_jobs *jobs, struct text *text)
{
    const char *key, *commonest = NULL;
    json_t *reason;
    int most = 0;
    json_object_foreach(jobs->reasons, key, reason)
    {
        int often = (int)json_integer_value(json_array_get(reason, 0));
        if (often <= most)
            continue;
        most = often;
        commonest = json_string_value(json_array_get(reason, 1));
    }
    text_add(text, "%d job%s failed", jobs->count, jobs->count == 1 ? "" : "s");
    if (!commonest)
        return;
    if (jobs->count > 1)
        text_add(text, ", %d of them", most);
    text_add(text, ": %s", commonest);
}

void failed_jobs_free(struct failed_jobs *jobs)
{
    json_decref(jobs->reasons);
    *jobs = (struct failed_jobs){0};
}
