/*
 * findings.h - what is wrong with which host, in words.
 */
#ifndef CCTEST_ACCEPT_FINDINGS_H
#define CCTEST_ACCEPT_FINDINGS_H

#include "base/status.h"
#include "accept/accept_options.h"
#include "accept/judge/sickness.h"

#define FOUND_TEXT_MOST 480
#define FOUND_WHAT_MOST 120

struct found {
    enum accept_stage stage;
    enum health health;         /* that it makes of its hosts; HEALTH_GOOD: a note */
    int host, peer;             /* -1: the fleet as a whole; peer -1: the host alone */
    enum status status;         /* that it asks for: 1, 3, 4 or 5; STATUS_OK: a note */
    char text[FOUND_TEXT_MOST]; /* one sentence */
    const char *unit;           /* static, of the number that is the reason; NULL: it is none */
    struct reason reason;
    /* What is slow or fails, "latency, rail 2": the same in each rotation of a soak. */
    char what[FOUND_WHAT_MOST];
    bool loss; /* the host is lost */
    /* One rotation alone found the host slow, which makes it a suspect: each has its false alarms. */
    bool once;
    int rotation;        /* of a soak in which it was found first; 0: before, or behind it */
    int rotations, last; /* how many found it again, and the last of them */
};

/* In the order in which they were found. */
struct findings {
    struct found *of;
    int count, room;
    enum health *healths; /* the worst that was found of each host, */
    int healths_room;     /* for so many; others are good */
    int rotation;         /* that goes on; 0: none */
};

/* Adds a copy. In a rotation of a soak, the same that was found before of the same host or link, in the
 * same stage and as grave, is counted instead; a slow host is bad then, and a suspect before. */
enum status findings_add(struct findings *findings, const struct found *found);
void findings_free(struct findings *findings);

/* Negative: `a` is graver, by what it makes of its hosts, then by its status: wrong data outranks
 * slowness. 0: they are as grave. */
int findings_compare(const struct found *a, const struct found *b);

/* What a finding makes of its hosts is less grave than it looked. */
void findings_soften(struct findings *findings, int index, enum health health);

/* The worst that was found of a host. */
enum health findings_health(const struct findings *findings, int host);

/* The gravest status that any of them asks for. */
enum status findings_status(const struct findings *findings);

extern const char *const health_words[]; /* "good", "unknown", "suspect", "bad" */

#endif
