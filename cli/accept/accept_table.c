/*
 * accept_table.c - prints an acceptance run for people.
 */
#include "cli/accept/internal.h"

#include <stdlib.h>
#include <string.h>

#define FINDINGS_MOST  200 /* printed; JSON has all */
#define JOB_HOSTS_MOST 4   /* named of a job */

static const char *const state_words[] = {
    [STAGE_DONE] = "done", [STAGE_PARTLY] = "partly", [STAGE_LEFT_OUT] = "left out"};

void accept_table_begin(FILE *out, const struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    int hosts = 0, agents = 0;
    for (int h = 0; h < roster->host_count; h++) {
        hosts += !roster->hosts[h].lost;
        agents += roster->hosts[h].lost ? 0 : roster->hosts[h].count;
    }
    fprintf(out, "# cctest %s accept, ", CCTEST_VERSION);
    if (agents < roster->ranks)
        fprintf(out, "%d of ", agents);
    fprintf(out, "%d agent%s on %d host%s, bootstrap %s\n", roster->ranks, plural(roster->ranks),
            hosts, plural(hosts), acceptance->bootstrap);
    fprintf(out, "#\n# %-10s %-9s %8s  %s\n", "stage", "state", "time", "result");
    fflush(out);
}

/* A job that failed: its hosts, and why. */
static void failed_job_print(FILE *out, const struct acceptance *acceptance, const json_t *job)
{
    const json_t *hosts = json_object_get(job, "hosts");
    size_t count = json_array_size(hosts);
    fputs("#   ", out);
    for (size_t i = 0; i < count && i < JOB_HOSTS_MOST; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "",
                acceptance->labels[(int)json_integer_value(json_array_get(hosts, i))]);
    if (count > JOB_HOSTS_MOST)
        fprintf(out, " and %zu more", count - JOB_HOSTS_MOST);
    fprintf(out, ": %s: %s\n", json_string_value(json_object_get(job, "outcome")),
            json_string_value(json_object_get(job, "why")));
}

static void failed_jobs_print(FILE *out, const struct acceptance *acceptance, const json_t *jobs)
{
    size_t index, failed = 0;
    const json_t *job;
    json_array_foreach(jobs, index, job)
    {
        const char *outcome = json_string_value(json_object_get(job, "outcome"));
        if (strcmp(outcome, reading_outcome_names[READING_VALUE]) != 0 && failed++ < FINDINGS_MOST)
            failed_job_print(out, acceptance, job);
    }
    if (failed > FINDINGS_MOST)
        fprintf(out, "#   and %zu more jobs failed: --json has all\n", failed - FINDINGS_MOST);
}

void accept_table_stage(FILE *out, const struct acceptance *acceptance)
{
    const struct stage_result *result = &acceptance->stages[acceptance->stage_count - 1];
    char seconds[TIME_TEXT_MOST];
    fprintf(out, "  %-10s %-9s %8s  %s%s%s\n", accept_stage_names[result->stage],
            state_words[result->state],
            result->state == STAGE_LEFT_OUT ? "-" : time_text(result->seconds, seconds),
            result->text, result->text[0] && result->why[0] ? "; " : "", result->why);
    if (acceptance->job->bootstrap.verbosity > 0)
        failed_jobs_print(out, acceptance, result->jobs);
    fflush(out);
}

void accept_table_rotation(FILE *out, const struct acceptance *acceptance, int number,
                           double seconds)
{
    char text[TIME_TEXT_MOST];
    fprintf(out, "#   rotation %-3d %8s  %d finding%s so far\n", number, time_text(seconds, text),
            acceptance->findings.count, plural(acceptance->findings.count));
    fflush(out);
}

/* In which rotations of a soak. */
static void rotations_print(FILE *out, const struct found *found)
{
    if (found->rotation > 0)
        fprintf(out, "; in rotation %d", found->rotation);
    if (found->rotations > 0)
        fprintf(out, "%s in %d more rotations", found->rotation > 0 ? " and" : "; also",
                found->rotations);
}

/* The action. */
static void action_print(FILE *out, const struct found *found)
{
    const char *advice = found_advice(found->kind);
    if (advice)
        fprintf(out, "             %s: %s\n", action_words[found_action(found->kind)], advice);
}

static int gravity_compare(const void *a, const void *b)
{
    const struct found *const *left = a, *const *right = b;
    int order = findings_compare(*left, *right);
    return order ? order : (*left > *right) - (*left < *right);
}

/* The worst first. */
static void findings_print(FILE *out, const struct acceptance *acceptance)
{
    const struct findings *findings = &acceptance->findings;
    const struct found **sorted = new_array((size_t)findings->count, sizeof *sorted);
    if (findings->count > 0)
        fprintf(out, "#\n# findings:\n");
    for (int i = 0; i < findings->count; i++)
        sorted[i] = &findings->items[i];
    if (findings->count > 0)
        qsort(sorted, (size_t)findings->count, sizeof *sorted, gravity_compare);
    for (int i = 0; i < findings->count && i < FINDINGS_MOST; i++) {
        fprintf(out, "  %-8s %s",
                sorted[i]->health == HEALTH_GOOD ? "note" : health_words[sorted[i]->health],
                sorted[i]->text);
        rotations_print(out, sorted[i]);
        fputc('\n', out);
        action_print(out, sorted[i]);
    }
    if (findings->count > FINDINGS_MOST)
        fprintf(out, "# and %d more: --json has all\n", findings->count - FINDINGS_MOST);
    if (findings->count > 0)
        fprintf(out, "# what the findings mean and what to do: man cctest-accept\n");
    free(sorted);
}

static void missed_print(FILE *out, const struct acceptance *acceptance)
{
    char clause[MISSED_TEXT_MOST];
    struct text text = text_in(clause, sizeof clause);
    struct missed missed = missed_by(acceptance);
    missed_put(&missed, &text);
    fprintf(out, "# could have missed: %s%s\n", clause,
            acceptance->asked->quick           ? "; a run without --quick misses less"
            : acceptance->asked->duration <= 0 ? "; --duration misses less"
                                               : "");
}

static void hosts_print(FILE *out, const struct acceptance *acceptance, enum health health)
{
    char *list = accept_host_list(acceptance, health);
    fprintf(out, "# %s: %s\n", health_words[health], list[0] ? list : "none");
    free(list);
}

static void drains_print(FILE *out, const struct acceptance *acceptance)
{
    char line[DRAIN_LINE_MOST];
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (accept_drain_line(acceptance, h, line))
            fprintf(out, "# %s\n", line);
}

void accept_table_end(FILE *out, const struct acceptance *acceptance, enum status status)
{
    if (acceptance->roster) {
        findings_print(out, acceptance);
        fprintf(out, "#\n");
        if (!acceptance->judged)
            fprintf(
                out, "# %s: hosts without a finding are not judged, and --good is not written\n",
                acceptance->ended ? "nothing was measured or compared" : "the run was ended early");
        for (enum health health = acceptance->judged ? HEALTH_GOOD : HEALTH_UNKNOWN;
             health <= HEALTH_BAD; health++)
            if (health != HEALTH_UNKNOWN || accept_any(acceptance, HEALTH_UNKNOWN))
                hosts_print(out, acceptance, health);
        drains_print(out, acceptance);
        if (acceptance->judged)
            missed_print(out, acceptance);
        fprintf(out, "# status: %s\n", status_word(status));
    }
    fflush(out);
}
