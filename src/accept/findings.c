/*
 * findings.c - what is wrong with which host, in words.
 */
#include "accept/findings.h"

#include <stdlib.h>

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
            one->health == found->health && one->status == found->status)
            return one;
    }
    return NULL;
}

enum status findings_add(struct findings *findings, const struct found *found)
{
    struct found *before = findings->rotation > 0 ? found_before(findings, found) : NULL;
    if (before) {
        before->rotations += before->rotation != findings->rotation;
        return STATUS_OK;
    }
    if (findings->count == findings->room) {
        int room = 2 * findings->room + 16;
        struct found *of = realloc(findings->of, (size_t)room * sizeof *of);
        if (!of)
            return fail(STATUS_ERROR, "out of memory for %d findings", room);
        findings->of = of;
        findings->room = room;
    }
    findings->of[findings->count] = *found;
    findings->of[findings->count++].rotation = findings->rotation;
    return STATUS_OK;
}

void findings_free(struct findings *findings)
{
    free(findings->of);
    *findings = (struct findings){0};
}

enum health findings_health(const struct findings *findings, int host)
{
    enum health health = HEALTH_GOOD;
    for (int i = 0; i < findings->count; i++) {
        const struct found *found = &findings->of[i];
        if ((found->host == host || found->peer == host) && found->health > health)
            health = found->health;
    }
    return health;
}

enum status findings_status(const struct findings *findings)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < findings->count; i++)
        status = status_graver(status, findings->of[i].status);
    return status;
}
