/*
 * json_groups.c - the groups of a split job in JSON, and the times of each.
 */
#include "cli/run/internal.h"

#include "run/run.h"

json_t *groups_json(const struct job *job, const struct participants *participants)
{
    const struct split *split = participants->split;
    if (job->split.kind == SPLIT_NONE)
        return json_null();
    json_t *groups = json_array();
    for (int g = 0; g < split->groups->groups; g++) {
        const struct rank_group group = split_group(split, g);
        char name[GROUP_NAME_MOST];
        json_t *ranks = json_array();
        split_name(&job->split, &group, participants->members, name);
        for (int r = 0; r < group.ranks; r++)
            json_array_append_new(ranks, json_integer(group.members[r]));
        json_array_append_new(groups, json_pack("{s:s, s:o}", "name", name, "ranks", ranks));
    }
    return groups;
}

void groups_put(json_t *line, const struct result *result)
{
    json_t *groups = json_array();
    for (int g = 0; g < result->group_count; g++) {
        json_t *group = json_object();
        timing_put(group, &result->groups[g].timing);
        json_object_set_new(group, "wrong", json_integer((json_int_t)result->groups[g].wrong));
        json_array_append_new(groups, group);
    }
    json_object_set_new(line, "slowest_group", json_integer(result->slowest_group));
    json_object_set_new(line, "median_group", json_integer(result->median_group));
    json_object_set_new(line, "fastest_group", json_integer(result->fastest_group));
    json_object_set_new(line, "groups", groups);
}
