/*
 * host_profile.c - reads a profile of hosts.
 */
#include "accept/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_file.h"

const struct measured_number measured_numbers[] = {
    {"self.copy", VALUE_GBYTES, false},
    {"self.sum", VALUE_GBYTES, false},
    {"self.core", VALUE_STEPS, false},
    {"self.gpu.copy", VALUE_GBYTES, false},
    {"self.gpu.host_to_device", VALUE_GBYTES, false},
    {"self.gpu.device_to_host", VALUE_GBYTES, false},
    {"self.loop", VALUE_GBYTES, false},
    {"node.allreduce.latency", VALUE_MICROSECONDS, true},
    {"node.allreduce.busbw", VALUE_GBYTES, false},
    {"node.alltoall.busbw", VALUE_GBYTES, false},
    {"pairs.latency", VALUE_MICROSECONDS, true},
    {"pairs.bandwidth", VALUE_GBYTES, false},
    {"pairs.bandwidth_both", VALUE_GBYTES, false},
    {.key = NULL},
};
_Static_assert(sizeof measured_numbers / sizeof measured_numbers[0] <= MEASURED_MOST,
               "a profile has a place for each");

int measured_find(const char *key)
{
    for (int i = 0; measured_numbers[i].key; i++)
        if (strcmp(measured_numbers[i].key, key) == 0)
            return i;
    return -1;
}

/* ---- reading ---- */

static enum status asked_take(struct host_profile *profile, const struct profile_line *line,
                              int index)
{
    const struct measured_number *number = &measured_numbers[index];
    enum profile_operator operator= number->less_is_better ? PROFILE_MOST : PROFILE_LEAST;
    if (line->operator!= operator)
        return fail(STATUS_USAGE, "%s:%d: %s is measured: write %s behind it", line->file,
                    line->number, line->key, profile_operator_names[operator]);
    if (profile->asked[index] > 0)
        return fail(STATUS_USAGE, "%s:%d: %s is there twice", line->file, line->number, line->key);
    enum status status = profile_number(line, number->unit, &profile->asked[index]);
    if (status == STATUS_OK && profile->asked[index] <= 0)
        return fail(STATUS_USAGE, "%s:%d: %s is above 0, not '%s'", line->file, line->number,
                    line->key, line->value);
    return status;
}

static enum status fact_take(struct host_profile *profile, const struct profile_line *line)
{
    struct expected_fact *facts =
        realloc(profile->facts, (size_t)(profile->fact_count + 1) * sizeof *facts);
    if (!facts)
        return fail(STATUS_ERROR, "out of memory for the profile");
    profile->facts = facts;
    enum status status = expected_fact_read(line, &facts[profile->fact_count]);
    profile->fact_count += status == STATUS_OK;
    return status;
}

static enum status line_take(struct host_profile *profile, const char *text, const char *path,
                             int number)
{
    struct profile_line line;
    enum status status = profile_line_read(text, path, number, &line);
    if (status != STATUS_OK || !line.key[0])
        return status;
    int index = measured_find(line.key);
    return index >= 0 ? asked_take(profile, &line, index) : fact_take(profile, &line);
}

enum status host_profile_read(const char *path, struct host_profile *profile)
{
    char *text = NULL, *rest;
    *profile = (struct host_profile){.facts = NULL};
    enum status status = text_file_read(path, &text);
    rest = text;
    for (int number = 1; status == STATUS_OK && rest; number++)
        status = line_take(profile, strsep(&rest, "\n"), path, number);
    free(text);
    return status;
}

void host_profile_free(struct host_profile *profile)
{
    free(profile->facts);
}

double host_profile_asked(const struct host_profile *profile, const char *key)
{
    int index = measured_find(key);
    return index >= 0 ? profile->asked[index] : 0;
}
