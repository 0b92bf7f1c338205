/*
 * findings.c - the faults of hosts, in words, and what the stages have in common.
 */
#include "accept/internal.h"

#include "base/clock.h"

#include <math.h>
#include <stdarg.h>
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
        struct found *one = &findings->items[i];
        if (one->stage == found->stage && one->host == found->host && one->peer == found->peer &&
            (one->once ? HEALTH_BAD : one->health) == found->health &&
            one->status == found->status && strcmp(one->what, found->what) == 0)
            return one;
    }
    return NULL;
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
}

void findings_add(struct findings *findings, const struct found *found)
{
    struct found *before = findings->rotation > 0 ? found_before(findings, found) : NULL;
    if (before) {
        found_again(findings, before);
        return;
    }
    struct found *kept = LIST_ADD(findings->items, findings->count);
    *kept = *found;
    kept->rotation = kept->last = findings->rotation;
    kept->once =
        findings->rotation > 0 && found->health == HEALTH_BAD && found->status == STATUS_SLOW;
    kept->health = kept->once ? HEALTH_SUSPECT : found->health;
}

void findings_free(struct findings *findings)
{
    free(findings->items);
    *findings = (struct findings){0};
}

static void health_worsen(enum health *healths, int hosts, int host, enum health health)
{
    if (host >= 0 && host < hosts && health > healths[host])
        healths[host] = health;
}

enum health *findings_healths(const struct findings *findings, int hosts)
{
    enum health *healths = new_array((size_t)hosts, sizeof *healths); /* good */
    for (int i = 0; i < findings->count; i++) {
        const struct found *found = &findings->items[i];
        health_worsen(healths, hosts, found->host, found->health);
        health_worsen(healths, hosts, found->peer, found->health);
    }
    return healths;
}

int findings_compare(const struct found *a, const struct found *b)
{
    if (a->health != b->health)
        return a->health > b->health ? -1 : 1;
    return a->status == b->status ? 0 : status_worse(a->status, b->status) == a->status ? -1 : 1;
}

enum status findings_status(const struct findings *findings)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < findings->count; i++)
        status = status_worse(status, findings->items[i].status);
    return status;
}

/*
 * Hosts that are lost, as findings.
 */
#define SILENT_LEAST 2 /* hosts that name rank 0's */

/* The finding for a host that is lost since the last call. */
static void loss_find(struct acceptance *acceptance, int index)
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
    text_add(&text, "%s", acceptance->labels[index]);
    if (is_link)
        text_add(&text, ", %s or the link between them: wrong data", acceptance->labels[root]);
    else
        text_add(&text, ": lost");
    text_add(&text, "%s%s: rank %d of the agents: %s%s", host->stage[0] ? " in stage " : "",
             host->stage, host->lost_agent, host->why, doing);
    findings_add(&acceptance->findings, &found);
}

void losses_find(struct acceptance *acceptance)
{
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (acceptance->roster->hosts[h].lost && !acceptance->losses_found[h])
            loss_find(acceptance, h);
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
static void root_blame(struct acceptance *acceptance, const char *stage, int silent)
{
    const struct roster *roster = acceptance->roster;
    struct findings *findings = &acceptance->findings;
    int root = roster->agents[0].host, others = roster->host_count - 1;
    for (int i = 0; i < findings->count; i++)
        if (findings->items[i].loss && is_silent_in(&roster->hosts[findings->items[i].host], stage))
            findings->items[i].health = HEALTH_UNKNOWN;
    char stopped[120] = "it, or its way to them, is at fault";
    if (roster->stopped > 0)
        snprintf(stopped, sizeof stopped, "rank 0 was stopped, or got no core, for %.1f s",
                 roster->stopped);
    stage_finds(acceptance, STAGE_START, root, silent == others ? HEALTH_BAD : HEALTH_SUSPECT,
                STATUS_TIMEOUT,
                "%s: lost%s%s: rank 0 is there, and %d of the %d other hosts fell silent for "
                "it: %s, and they are not judged",
                acceptance->labels[root], stage[0] ? " since stage " : "", stage, silent, others,
                stopped);
}

void losses_judge(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    int others = roster->host_count - 1;
    for (int h = 0; h < roster->host_count; h++) {
        const char *stage = roster->hosts[h].stage;
        int silent = is_silent_in(&roster->hosts[h], stage) ? silent_count(roster, stage) : 0;
        if (silent >= SILENT_LEAST && 2 * silent > others) {
            root_blame(acceptance, stage, silent);
            return;
        }
    }
}

/*
 * Functions that all stages share.
 */
void stage_lacks(struct stage_result *result, enum stage_state state, const char *format, ...)
{
    char why[sizeof result->why];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    struct text text = text_after(result->why, sizeof result->why);
    text_add(&text, "%s%s", text.used > 0 ? "; " : "", why);
    result->state = state > result->state ? state : result->state;
}

void stage_says(struct stage_result *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->text, sizeof result->text, format, arguments);
    va_end(arguments);
}

double stage_left(const struct acceptance *acceptance)
{
    return fmax(acceptance->until - clock_seconds(), 0);
}

void stage_round(struct acceptance *acceptance, int round, int rounds)
{
    struct stage_progress *progress = &acceptance->progress;
    progress->round = round;
    progress->rounds = rounds;
    if (round > 1)
        progress->round_seconds = (clock_seconds() - progress->began) / (round - 1);
}

bool turn_fits(struct turns *turns, const struct acceptance *acceptance)
{
    double left = stage_left(acceptance);
    turns->longest = fmax(turns->longest, turns->left - left);
    turns->left = left;
    return left >= turns->longest;
}

void *stage_memory(struct acceptance *acceptance, size_t count, size_t size)
{
    return arena_new(acceptance->stage_memory, count, size);
}

int hosts_left(const struct acceptance *acceptance, int *hosts)
{
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (!acceptance->roster->hosts[h].lost)
            hosts[count++] = h;
    return count;
}

int hosts_good(const struct acceptance *acceptance, int *hosts)
{
    int all = acceptance->roster->host_count, count = 0;
    enum health *healths = findings_healths(&acceptance->findings, all);
    for (int h = 0; h < all; h++)
        if (!acceptance->roster->hosts[h].lost && healths[h] == HEALTH_GOOD)
            hosts[count++] = h;
    free(healths);
    return count;
}

int hosts_pairable(const struct acceptance *acceptance, bool *present)
{
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        count += present[h] = !acceptance->roster->hosts[h].lost;
    return count;
}

struct fleet_names fleet_names_of(const struct acceptance *acceptance)
{
    const struct rails *rails = &acceptance->rails;
    return (struct fleet_names){.hosts = acceptance->labels,
                                .rails = rails_have_names(rails) ? rails->names : NULL};
}

void stage_finds(struct acceptance *acceptance, enum accept_stage stage, int host,
                 enum health health, enum status status, const char *format, ...)
{
    struct found found = {
        .stage = stage, .health = health, .host = host, .peer = -1, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found.text, sizeof found.text, format, arguments);
    va_end(arguments);
    findings_add(&acceptance->findings, &found);
}
