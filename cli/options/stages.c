/*
 * stages.c - the value of --stages: a list of stages of `cctest accept`.
 */
#include "cli/options/stages.h"

#include <string.h>

#include "base/log.h"
#include "base/name_match.h"
#include "base/text.h"
#include "cli/options/values.h"

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

static enum status stages_read(const struct argument *argument, struct job *job)
{
    const char *list = argument->text;
    char item[ITEM_MOST];
    job->accept.stages = 1u << STAGE_START;
    while (list_next(&list, ',', item)) {
        int stage = 0;
        while (accept_stage_names[stage] && strcmp(accept_stage_names[stage], item) != 0)
            stage++;
        if (stage == ACCEPT_STAGES)
            return stage_unknown(item);
        if (stage == STAGE_SOAK)
            return fail(STATUS_USAGE,
                        "soak is no stage to choose: --duration TIME repeats those that "
                        "are chosen for so long");
        job->accept.stages |= 1u << stage;
    }
    return STATUS_OK;
}

static json_t *stages_show(const struct option_row *option, const struct job *job)
{
    json_t *names = json_array();
    (void)option;
    for (int i = 0; i < ACCEPT_STAGES; i++)
        if (job->accept.stages & (1u << i))
            json_array_append_new(names, json_string(accept_stage_names[i]));
    return names;
}

const struct option_kind kind_stages = {.parse = stages_read, .show = stages_show};
