/*
 * losses.c - hosts that are lost, as findings.
 */
#include "accept/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SILENT_LEAST 2 /* hosts that accuse rank 0's */

/* Of a host that is lost since the last call. */
static enum status loss_find(struct acceptance *acceptance, int index)
{
    const struct fleet_host *host = &acceptance->roster->hosts[index];
    enum accept_stage stage = acceptance->stage_count < ACCEPT_STAGES
                                  ? acceptance->stages[acceptance->stage_count].stage
                                  : STAGE_ALL;
    char doing[FOUND_TEXT_MOST / 2] = "";
    acceptance->losses_found[index] = true;
    if (host->doing[0])
        snprintf(doing, sizeof doing, "; its worker ran %.*s", (int)strcspn(host->doing, " "),
                 host->doing);
    int root = acceptance->roster->agents[0].host;
    bool is_link = host->forged && root != index; /* either end of it, or what lies between */
    struct found found = {.stage = stage,
                          .health = is_link ? HEALTH_SUSPECT : HEALTH_BAD,
                          .host = index,
                          .peer = is_link ? root : -1,
                          .status = is_link ? STATUS_WRONG_DATA : STATUS_TIMEOUT,
                          .loss = true};
    struct text text = text_in(found.text, sizeof found.text);
    text_add(&text, "%s", host_label(acceptance, index));
    if (is_link)
        text_add(&text, ", %s or the link between them: wrong data", host_label(acceptance, root));
    else
        text_add(&text, ": lost");
    text_add(&text, "%s%s: rank %d of the agents: %s%s", host->stage[0] ? " in stage " : "",
             host->stage, host->lost_agent, host->why, doing);
    return findings_add(&acceptance->findings, &found);
}

enum status losses_find(struct acceptance *acceptance)
{
    enum status status = STATUS_OK;
    for (int h = 0; h < acceptance->roster->host_count && status == STATUS_OK; h++)
        if (acceptance->roster->hosts[h].lost && !acceptance->losses_found[h])
            status = loss_find(acceptance, h);
    return status;
}

/* Did this host fall silent in this stage? */
static bool is_silent_in(const struct fleet_host *host, const char *stage)
{
    return host->lost && host->silent && strcmp(host->stage, stage) == 0;
}

static int silent_count(const struct roster *roster, const char *stage)
{
    int count = 0;
    for (int h = 0; h < roster->host_count; h++)
        count += is_silent_in(&roster->hosts[h], stage);
    return count;
}

/* Hosts that were lost otherwise, or in another stage, say nothing of rank 0's. */
static enum status root_accuse(struct acceptance *acceptance, const char *stage, int silent)
{
    const struct roster *roster = acceptance->roster;
    struct findings *findings = &acceptance->findings;
    int root = roster->agents[0].host, others = roster->host_count - 1;
    for (int i = 0; i < findings->count; i++)
        if (findings->of[i].loss && is_silent_in(&roster->hosts[findings->of[i].host], stage))
            findings_soften(findings, i, HEALTH_UNKNOWN);
    char stopped[120] = "it, or its way to them, is at fault";
    if (roster->stopped > 0)
        snprintf(stopped, sizeof stopped, "rank 0 was stopped, or got no core, for %.1f s",
                 roster->stopped);
    return stage_finds(
        acceptance, STAGE_START, root, -1, silent == others ? HEALTH_BAD : HEALTH_SUSPECT,
        STATUS_TIMEOUT,
        "%s: lost%s%s: rank 0 is there, and %d of the %d other hosts fell silent for "
        "it: %s, and they are not judged",
        host_label(acceptance, root), stage[0] ? " since stage " : "", stage, silent, others,
        stopped);
}

enum status losses_judge(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    int others = roster->host_count - 1;
    for (int h = 0; h < roster->host_count; h++) {
        const char *stage = roster->hosts[h].stage;
        int silent = is_silent_in(&roster->hosts[h], stage) ? silent_count(roster, stage) : 0;
        if (silent >= SILENT_LEAST && 2 * silent > others)
            return root_accuse(acceptance, stage, silent);
    }
    return STATUS_OK;
}
