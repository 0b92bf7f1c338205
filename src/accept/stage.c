/*
 * stage.c - what the stages of an acceptance run have in common.
 */
#include "accept/accept.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

const char *const stage_state_names[] = {
    [STAGE_DONE] = "done", [STAGE_PARTLY] = "partly", [STAGE_LEFT_OUT] = "left-out"};

void stage_lacks(struct stage_result *result, enum stage_state state, const char *format, ...)
{
    char before[sizeof result->why], why[sizeof result->why];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    memcpy(before, result->why, sizeof before);
    struct text text = text_in(result->why, sizeof result->why);
    text_add(&text, "%s%s%s", before, before[0] ? "; " : "", why);
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
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (!acceptance->roster->hosts[h].lost &&
            findings_health(&acceptance->findings, h) == HEALTH_GOOD)
            hosts[count++] = h;
    return count;
}

bool host_is_explained(const struct acceptance *acceptance, int host)
{
    return acceptance->roster->hosts[host].lost ||
           (acceptance->loses_packets && acceptance->loses_packets[host]);
}

int hosts_pairable(const struct acceptance *acceptance, bool *present)
{
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        count += present[h] = !host_is_explained(acceptance, h);
    return count;
}

const char *host_label(const struct acceptance *acceptance, int host)
{
    return acceptance->labels[host];
}

struct fleet_names fleet_names_of(const struct acceptance *acceptance)
{
    const struct rails *rails = &acceptance->rails;
    return (struct fleet_names){.hosts = acceptance->label_pointers,
                                .rails = rails_have_names(rails) ? rails->names : NULL};
}

const char *counted(int count, const char *what, char text[COUNTED_MOST])
{
    snprintf(text, COUNTED_MOST, "%d %s%s", count, what, count == 1 ? "" : "s");
    return text;
}

enum status stage_finds(struct acceptance *acceptance, enum accept_stage stage, int host, int peer,
                        enum health health, enum status status, const char *format, ...)
{
    struct found found = {
        .stage = stage, .health = health, .host = host, .peer = peer, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found.text, sizeof found.text, format, arguments);
    va_end(arguments);
    return findings_add(&acceptance->findings, &found);
}

bool number_keep(struct acceptance *acceptance, const struct host_number *number)
{
    if (acceptance->number_count == acceptance->number_room) {
        int room = 2 * acceptance->number_room + 64;
        struct host_number *numbers = realloc(acceptance->numbers, (size_t)room * sizeof *numbers);
        if (!numbers)
            return false;
        acceptance->numbers = numbers;
        acceptance->number_room = room;
    }
    acceptance->numbers[acceptance->number_count++] = *number;
    return true;
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
