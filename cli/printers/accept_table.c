/*
 * accept_table.c - prints an acceptance run for people.
 */
#include "cli/printers/accept_table.h"

#include <stdlib.h>

#include "accept/stage.h"
#include "cli/printers/accept_files.h"

#define FINDINGS_MOST 200 /* printed; JSON has all */

static const char *const state_words[] = {
    [STAGE_DONE] = "done", [STAGE_PARTLY] = "partly", [STAGE_LEFT_OUT] = "left out"};

void accept_table_begin(FILE *out, const struct acceptance *acceptance)
{
    char hosts[COUNTED_MOST], agents[COUNTED_MOST];
    fprintf(out, "# cctest %s accept, %s on %s, bootstrap %s\n", CCTEST_VERSION,
            counted(acceptance->roster->ranks, "agent", agents),
            counted(acceptance->roster->host_count, "host", hosts), acceptance->bootstrap);
    fprintf(out, "#\n# %-10s %-9s %8s  %s\n", "stage", "state", "seconds", "result");
    fflush(out);
}

void accept_table_stage(FILE *out, const struct acceptance *acceptance)
{
    const struct stage_result *result = &acceptance->stages[acceptance->stage_count - 1];
    fprintf(out, "  %-10s %-9s %8.1f  %s%s%s\n", accept_stage_names[result->stage],
            state_words[result->state], result->seconds, result->text,
            result->text[0] && result->why[0] ? "; " : "", result->why);
    fflush(out);
}

void accept_table_rotation(FILE *out, const struct acceptance *acceptance, int number,
                           double seconds)
{
    fprintf(out, "#   rotation %-3d %8.1f  %d findings so far\n", number, seconds,
            acceptance->findings.count);
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

/* Those that make this of their hosts, behind so many others; how many there are then. */
static int findings_of_print(FILE *out, const struct findings *findings, enum health health,
                             int printed)
{
    for (int i = 0; i < findings->count && printed < FINDINGS_MOST; i++) {
        const struct found *found = &findings->of[i];
        if (found->health != health)
            continue;
        fprintf(out, "  %-8s %s", health == HEALTH_GOOD ? "note" : health_words[health],
                found->text);
        rotations_print(out, found);
        fputc('\n', out);
        printed++;
    }
    return printed;
}

/* The gravest first. */
static void findings_print(FILE *out, const struct acceptance *acceptance)
{
    const struct findings *findings = &acceptance->findings;
    int printed = 0;
    if (findings->count > 0)
        fprintf(out, "#\n# findings:\n");
    for (int health = HEALTH_BAD; health >= HEALTH_GOOD; health--)
        printed = findings_of_print(out, findings, (enum health)health, printed);
    if (findings->count > FINDINGS_MOST)
        fprintf(out, "# and %d more: --json has all\n", findings->count - FINDINGS_MOST);
}

static void hosts_print(FILE *out, const struct acceptance *acceptance, enum health health)
{
    char *list = accept_host_list(acceptance, health);
    fprintf(out, "# %s: %s\n", health_words[health], !list ? "?" : list[0] ? list : "none");
    free(list);
}

static bool any_unknown(const struct acceptance *acceptance)
{
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (findings_health(&acceptance->findings, h) == HEALTH_UNKNOWN)
            return true;
    return false;
}

void accept_table_end(FILE *out, const struct acceptance *acceptance, enum status status)
{
    if (acceptance->roster) {
        findings_print(out, acceptance);
        fprintf(out, "#\n");
        if (acceptance->ended_early)
            fprintf(
                out,
                "# the run was ended early: hosts without a finding are not judged, and --good is "
                "not written\n");
        for (enum health health = acceptance->ended_early ? HEALTH_SUSPECT : HEALTH_GOOD;
             health <= HEALTH_BAD; health++)
            if (health != HEALTH_UNKNOWN || any_unknown(acceptance))
                hosts_print(out, acceptance, health);
        accept_drain_print(out, acceptance, "# ");
        fprintf(out, "# status: %s\n", status_word(status));
    }
    fflush(out);
}
