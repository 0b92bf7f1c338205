/*
 * findings.c - what is wrong with which host, in words.
 */
#include "accept/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

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

void findings_soften(struct findings *findings, int index, enum health health)
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
