/*
 * failed_jobs.c - why the jobs of a stage failed.
 */
#include "accept/internal.h"

#include <ctype.h>
#include <stdbool.h>

#define KEY_MOST 320

static const char *key_make(const char *why, char key[KEY_MOST])
{
    int used = 0;
    for (const char *at = why; *at && used < KEY_MOST - 1; at++) {
        bool number =
            isdigit((unsigned char)*at) || (*at == '.' && used > 0 && key[used - 1] == '#');
        if (!number)
            key[used++] = *at;
        else if (used == 0 || key[used - 1] != '#')
            key[used++] = '#';
    }
    key[used] = '\0';
    return key;
}

void failed_jobs_add(struct failed_jobs *jobs, const char *why)
{
    char key[KEY_MOST];
    jobs->count++;
    if (!jobs->reasons)
        jobs->reasons = json_object();
    why = why[0] ? why : "no reason is known";
    json_t *reason = json_object_get(jobs->reasons, key_make(why, key));
    if (reason)
        json_integer_set(json_array_get(reason, 0),
                         json_integer_value(json_array_get(reason, 0)) + 1);
    else
        json_object_set_new(jobs->reasons, key, json_pack("[i, s]", 1, why));
}

void failed_jobs_put(const struct failed_jobs *jobs, struct text *text)
{
    const char *key, *commonest = NULL;
    json_t *reason;
    int most = 0;
    json_object_foreach(jobs->reasons, key, reason)
    {
        int often = (int)json_integer_value(json_array_get(reason, 0));
        if (often <= most)
            continue;
        most = often;
        commonest = json_string_value(json_array_get(reason, 1));
    }
    text_add(text, "%d job%s failed", jobs->count, jobs->count == 1 ? "" : "s");
    if (!commonest)
        return;
    if (jobs->count > 1)
        text_add(text, ", %d of them", most);
    text_add(text, ": %s", commonest);
}

void failed_jobs_free(struct failed_jobs *jobs)
{
    json_decref(jobs->reasons);
    *jobs = (struct failed_jobs){0};
}
