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

bool acceptance_looked(const struct acceptance *acceptance)
{
    bool any = false;
    for (int s = 0; s < acceptance->stage_count; s++)
        any |= acceptance->stages[s].stage != STAGE_START &&
               acceptance->stages[s].state != STAGE_LEFT_OUT;
    return any;
}

enum health *acceptance_healths(const struct acceptance *acceptance)
{
    int hosts = acceptance->roster ? acceptance->roster->host_count : 0;
    enum health *healths = findings_healths(&acceptance->findings, hosts);
    for (int h = 0; h < hosts && !acceptance->judged; h++)
        health_worsen(healths, hosts, h, HEALTH_UNKNOWN);
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
#define SILENT_LEAST    2    /* hosts that name rank 0's */
#define SILENT_TOGETHER 10.0 /* seconds between their losses: the longest silence of an agent */

/* The finding that a loss makes. */
static const struct {
    enum found_kind kind;
    enum health health;
} losses[AGENT_LOSSES] = {
    [LOSS_FAULT] = {FOUND_LOST, HEALTH_BAD},
    [LOSS_ABSENT] = {FOUND_ABSENT, HEALTH_UNKNOWN},
    [LOSS_ENDED] = {FOUND_ENDED, HEALTH_SUSPECT},
    [LOSS_SILENT] = {FOUND_NOTE, HEALTH_UNKNOWN},
    [LOSS_FORGED] = {FOUND_WRONG_DATA, HEALTH_SUSPECT},
};

/* The finding for a host that is lost since the last call. Of one that is silent it shows at the
 * end whether the fault is its own. */
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
    enum agent_loss loss = host->loss == LOSS_FORGED && root == index ? LOSS_FAULT : host->loss;
    bool is_link = loss == LOSS_FORGED; /* either end of it, or what lies between */
    struct found found = {.stage = stage,
                          .kind = losses[loss].kind,
                          .health = losses[loss].health,
                          .host = index,
                          .peer = is_link ? root : -1,
                          .status = is_link ? STATUS_WRONG_DATA : STATUS_TIMEOUT,
                          .loss = true};
    struct text text = text_in(found.text, sizeof found.text);
    text_add(&text, "%s", acceptance->labels[index]);
    if (is_link)
        text_add(&text, ", %s or the link between them: wrong data from %s to %s",
                 acceptance->labels[root], acceptance->labels[index], acceptance->labels[root]);
    else if (loss != LOSS_ABSENT)
        text_add(&text, ": lost");
    if (loss != LOSS_ABSENT)
        text_add(&text, "%s%s: rank %d of the agents", host->stage[0] ? " in stage " : "",
                 host->stage, host->lost_agent);
    text_add(&text, ": %s%s", host->why, doing);
    findings_add(&acceptance->findings, &found);
}

void losses_find(struct acceptance *acceptance)
{
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (acceptance->roster->hosts[h].lost && !acceptance->losses_found[h])
            loss_find(acceptance, h);
}

/* The finding of a host's loss. */
static struct found *loss_of(struct findings *findings, int host)
{
    for (int i = 0; i < findings->count; i++)
        if (findings->items[i].loss && findings->items[i].host == host)
            return &findings->items[i];
    return NULL;
}

/* Silent hosts that are not judged yet. */
struct silences {
    const struct roster *roster;
    double stopped; /* seconds in which rank 0 did not run, before the last of them; 0: it did */
    bool *open;     /* by host */
};

/* The number of hosts that fell silent at about the same time. */
struct silence {
    int first;  /* of them, by time */
    int hosts;  /* how many */
    int others; /* that were in contact with rank 0 before, but its own */
};

/* Was rank 0 ever in contact with it? */
static bool host_was_there(const struct fleet_host *host)
{
    return !host->lost || host->loss != LOSS_ABSENT;
}

static bool is_together(const struct silences *silences, int first, int host)
{
    const struct fleet_host *hosts = silences->roster->hosts;
    double later = hosts[host].lost_at - hosts[first].lost_at;
    return silences->open[host] && later >= 0 && later <= SILENT_TOGETHER;
}

static struct silence silence_from(const struct silences *silences, int first)
{
    const struct roster *roster = silences->roster;
    struct silence silence = {.first = first};
    for (int h = 0; h < roster->host_count; h++) {
        const struct fleet_host *host = &roster->hosts[h];
        silence.hosts += is_together(silences, first, h);
        silence.others += h != roster->agents[0].host && host_was_there(host) &&
                          (!host->lost || host->lost_at >= roster->hosts[first].lost_at);
    }
    return silence;
}

/* The largest of those that tell more of rank 0's host than of theirs, and of equal ones the last;
 * hosts 0: there is none. Where rank 0 was stopped, one host is enough. */
static struct silence silence_find(const struct silences *silences)
{
    const struct fleet_host *hosts = silences->roster->hosts;
    struct silence found = {.hosts = 0};
    for (int h = 0; h < silences->roster->host_count; h++) {
        if (!silences->open[h])
            continue;
        struct silence silence = silence_from(silences, h);
        bool most = silence.hosts >= SILENT_LEAST && 2 * silence.hosts > silence.others;
        bool later = hosts[h].lost_at > hosts[found.first].lost_at;
        if ((most || silences->stopped > 0) &&
            (silence.hosts > found.hosts || (silence.hosts == found.hosts && later)))
            found = silence;
    }
    return found;
}

static void root_blame(struct acceptance *acceptance, const struct silence *silence, double stopped)
{
    const struct roster *roster = acceptance->roster;
    const char *stage = roster->hosts[silence->first].stage;
    int root = roster->agents[0].host;
    char why[120] = "this host or its path to them is at fault";
    if (stopped > 0)
        snprintf(why, sizeof why, "rank 0 was stopped, or got no core, for %.1f s", stopped);
    stage_finds(acceptance, STAGE_START, stopped > 0 ? FOUND_STOPPED : FOUND_ROOT_CUT, root,
                silence->hosts == silence->others ? HEALTH_BAD : HEALTH_SUSPECT, STATUS_TIMEOUT,
                "%s: lost%s%s: rank 0 is alive, and %d of the %d other hosts fell silent for "
                "it: %s; the silent hosts are not judged",
                acceptance->labels[root], stage[0] ? " since stage " : "", stage, silence->hosts,
                silence->others, why);
}

/* The loss of a silent host that says nothing of rank 0's is its own, unless rank 0 has heard no
 * other since: then it may be either's. */
static void silence_judge(struct acceptance *acceptance, int host)
{
    const struct roster *roster = acceptance->roster;
    struct found *found = loss_of(&acceptance->findings, host);
    int root = roster->agents[0].host;
    bool heard = false;
    for (int h = 0; h < roster->host_count; h++)
        heard |= h != root && host_was_there(&roster->hosts[h]) &&
                 (!roster->hosts[h].lost || roster->hosts[h].lost_at > roster->hosts[host].lost_at);
    if (!found)
        return;
    found->health = heard ? HEALTH_BAD : HEALTH_SUSPECT;
    found->kind = heard ? FOUND_LOST : FOUND_UNHEARD;
    if (heard)
        return;
    struct text text = text_after(found->text, sizeof found->text);
    text_add(&text, "; no other host can tell whether it or %s is at fault",
             acceptance->labels[root]);
    found->peer = root;
}

void losses_judge(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    struct silences silences = {.roster = roster,
                                .stopped = roster->stopped,
                                .open =
                                    new_array((size_t)roster->host_count, sizeof *silences.open)};
    struct silence silence;
    for (int h = 0; h < roster->host_count; h++)
        silences.open[h] = roster->hosts[h].lost && roster->hosts[h].loss == LOSS_SILENT;
    while ((silence = silence_find(&silences)).hosts > 0) {
        root_blame(acceptance, &silence, silences.stopped);
        for (int h = 0; h < roster->host_count; h++)
            if (h != silence.first)
                silences.open[h] &= !is_together(&silences, silence.first, h);
        silences.open[silence.first] = false;
        silences.stopped = 0;
    }
    for (int h = 0; h < roster->host_count; h++)
        if (silences.open[h])
            silence_judge(acceptance, h);
    free(silences.open);
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

void stage_finds(struct acceptance *acceptance, enum accept_stage stage, enum found_kind kind,
                 int host, enum health health, enum status status, const char *format, ...)
{
    struct found found = {
        .stage = stage, .kind = kind, .health = health, .host = host, .peer = -1, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found.text, sizeof found.text, format, arguments);
    va_end(arguments);
    findings_add(&acceptance->findings, &found);
}
