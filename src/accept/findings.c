/*
 * findings.c - what is wrong with which host, in words.
 */
#include "accept/accept.h"

#include "accept/internal.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const health_words[] = {[HEALTH_GOOD] = "good",
                                    [HEALTH_UNKNOWN] = "unknown",
                                    [HEALTH_SUSPECT] = "suspect",
                                    [HEALTH_BAD] = "bad"};

/* The same in an earlier rotation; NULL: it is new. */
static struct found *found_before(struct findings *findings, const struct found *found)
{
    for (int i = 0; i < findings->count; i++) {
        struct found *one = &findings->of[i];
        if (one->stage == found->stage && one->host == found->host && one->peer == found->peer &&
            (one->once ? HEALTH_BAD : one->health) == found->health &&
            one->status == found->status && strcmp(one->what, found->what) == 0)
            return one;
    }
    return NULL;
}

/* Makes room for a host. */
static bool healths_reserve(struct findings *findings, int host)
{
    if (host < findings->healths_room)
        return true;
    int room = 2 * host + 16;
    enum health *healths = realloc(findings->healths, (size_t)room * sizeof *healths);
    if (!healths)
        return false;
    for (int h = findings->healths_room; h < room; h++)
        healths[h] = HEALTH_GOOD;
    findings->healths = healths;
    findings->healths_room = room;
    return true;
}

static void health_worsen(struct findings *findings, int host, enum health health)
{
    if (host >= 0 && health > findings->healths[host])
        findings->healths[host] = health;
}

static bool findings_reserve(struct findings *findings, const struct found *found)
{
    if (!healths_reserve(findings, found->host > found->peer ? found->host : found->peer))
        return false;
    if (findings->count < findings->room)
        return true;
    int room = 2 * findings->room + 16;
    struct found *of = realloc(findings->of, (size_t)room * sizeof *of);
    if (!of)
        return false;
    findings->of = of;
    findings->room = room;
    return true;
}

static bool is_slow_and_bad(const struct found *found)
{
    return found->health == HEALTH_BAD && found->status == STATUS_SLOW;
}

static void found_again(struct findings *findings, struct found *found)
{
    bool is_new = found->last != findings->rotation;
    found->rotations += is_new;
    found->last = findings->rotation;
    if (!is_new || !found->once)
        return;
    found->once = false;
    found->health = HEALTH_BAD;
    health_worsen(findings, found->host, found->health);
}

enum status findings_add(struct findings *findings, const struct found *found)
{
    struct found *before = findings->rotation > 0 ? found_before(findings, found) : NULL;
    if (before) {
        found_again(findings, before);
        return STATUS_OK;
    }
    if (!findings_reserve(findings, found))
        return fail(STATUS_ERROR, "out of memory for %d findings", findings->count + 1);
    struct found *kept = &findings->of[findings->count++];
    *kept = *found;
    kept->rotation = kept->last = findings->rotation;
    kept->once = findings->rotation > 0 && is_slow_and_bad(found);
    kept->health = kept->once ? HEALTH_SUSPECT : found->health;
    health_worsen(findings, kept->host, kept->health);
    health_worsen(findings, kept->peer, kept->health);
    return STATUS_OK;
}

/* What a finding makes of its hosts is less grave than it looked. */
static void findings_soften(struct findings *findings, int index, enum health health)
{
    findings->of[index].health = health;
    for (int h = 0; h < findings->healths_room; h++)
        findings->healths[h] = HEALTH_GOOD;
    for (int i = 0; i < findings->count; i++) {
        health_worsen(findings, findings->of[i].host, findings->of[i].health);
        health_worsen(findings, findings->of[i].peer, findings->of[i].health);
    }
}

void findings_free(struct findings *findings)
{
    free(findings->of);
    free(findings->healths);
    *findings = (struct findings){0};
}

enum health findings_health(const struct findings *findings, int host)
{
    return host < findings->healths_room ? findings->healths[host] : HEALTH_GOOD;
}

int findings_compare(const struct found *a, const struct found *b)
{
    if (a->health != b->health)
        return a->health > b->health ? -1 : 1;
    return a->status == b->status ? 0 : status_graver(a->status, b->status) == a->status ? -1 : 1;
}

enum status findings_status(const struct findings *findings)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < findings->count; i++)
        status = status_graver(status, findings->of[i].status);
    return status;
}

/*
 * Hosts that are lost, as findings.
 */
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
