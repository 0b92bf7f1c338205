/*
 * nvidia.c - counts the GPUs that CUDA would show, by device files and CUDA_VISIBLE_DEVICES.
 */
#include "host/host.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MOST 64

static int paths_count(const char *root, const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    if (snprintf(path, sizeof path, "%s%s", root, pattern) >= (int)sizeof path ||
        glob(path, GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    int count = found.gl_pathc < GPUS_MOST ? (int)found.gl_pathc : GPUS_MOST;
    globfree(&found);
    return count;
}

/* A container may have the device files of some GPUs only. */
static int gpus_present(const char *root)
{
    int devices = paths_count(root, "/dev/nvidia[0-9]*");
    return devices > 0 ? devices : paths_count(root, "/proc/driver/nvidia/gpus/*");
}

/* The number of a GPU that a word of CUDA_VISIBLE_DEVICES names; -1: it names none. */
static int word_number(const char *word, int present)
{
    char *end;
    long number = isdigit((unsigned char)word[0]) ? strtol(word, &end, 10) : -1;
    return number >= 0 && number < present && (*end == ',' || *end == '\0') ? (int)number : -1;
}

/* CUDA reads the list up to the first word that names no GPU, or one that is there already. */
static int visible_count(const char *visible, int present)
{
    bool seen[GPUS_MOST] = {false};
    int count = 0;
    for (const char *word = visible; word && count < present; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(word, "MIG-", 4) == 0)
            return 1;
        bool is_uuid = strncmp(word, "GPU-", 4) == 0;
        int number = is_uuid ? -1 : word_number(word, present);
        if (!is_uuid && (number < 0 || seen[number]))
            break;
        if (!is_uuid)
            seen[number] = true;
        count++;
    }
    return count;
}

int nvidia_visible(const char *root, const char *visible)
{
    int present = gpus_present(root);
    if (visible)
        return visible_count(visible, present);
    bool divided = paths_count(root, "/proc/driver/nvidia/capabilities/gpu*/mig/gi*/ci*") > 0;
    return divided && present > 0 ? 1 : present;
}
