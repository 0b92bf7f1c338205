/*
 * stages.c - the value of --stages: a list of stages of `cctest accept`.
 */
#include "cli/options/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"

#define SECONDS_MOST 86400

static enum status stage_unknown(const char *name)
{
    char all[200];
    struct text text = text_in(all, sizeof all);
    const char *nearest = name_nearest(name, accept_stage_names);
    for (int i = 0; i < STAGE_SOAK; i++)
        text_add(&text, "%s%s", i ? ", " : "", accept_stage_names[i]);
    return fail(STATUS_USAGE, "'%s' is no stage: %s%s%sthere are %s", name,
                nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", all);
}

static bool seconds_read(const char *text, double *seconds)
{
    char *end;
    *seconds = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
    return *seconds >= 0 && *end == '\0' && *seconds <= SECONDS_MOST;
}

static enum status stages_read(const struct argument *argument, struct request *request)
{
    const char *list = argument->text;
    char item[ITEM_MOST];
    request->accept.stages = 1u << STAGE_START;
    while (list_next(&list, ',', item)) {
        char *colon = strchr(item, ':');
        int stage = 0;
        if (colon)
            *colon = '\0';
        while (accept_stage_names[stage] && strcmp(accept_stage_names[stage], item) != 0)
            stage++;
        if (stage == ACCEPT_STAGES)
            return stage_unknown(item);
        if (stage == STAGE_SOAK)
            return fail(STATUS_USAGE,
                        "soak is no stage to choose: --duration TIME repeats those that "
                        "are chosen for so long");
        request->accept.stages |= 1u << stage;
        if (colon && !seconds_read(colon + 1, &request->accept.seconds[stage]))
            return fail(
                STATUS_USAGE,
                "'%s:%s' in --stages: write the seconds that the stage may take, up to a day", item,
                colon + 1);
        if (colon && request->accept.seconds[stage] < stage_times[stage].least)
            return fail(STATUS_USAGE, "'%s:%s' in --stages is too short: %s needs %g s", item,
                        colon + 1, item, stage_times[stage].least);
    }
    return STATUS_OK;
}

static json_t *stages_show(const struct option_row *option, const struct request *request)
{
    json_t *names = json_array();
    (void)option;
    for (int i = 0; i < ACCEPT_STAGES; i++)
        if (request->accept.stages & (1u << i))
            json_array_append_new(names, request->accept.seconds[i] > 0
                                             ? json_sprintf("%s:%g", accept_stage_names[i],
                                                            request->accept.seconds[i])
                                             : json_string(accept_stage_names[i]));
    return names;
}

const struct option_kind kind_stages = {.parse = stages_read, .show = stages_show};
