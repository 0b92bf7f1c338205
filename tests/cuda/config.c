/*
 * config.c - reads the settings of the stand-in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#define AT(member) offsetof(struct standin_config, member)

/* `words`: names of the values 0, 1 ... instead of numbers. */
static const struct standin_setting {
    const char *name;
    size_t at;
    long usual, least, most;
    const char *words[4];
} settings[] = {
    {"devices", AT(devices), 2, 0, STANDIN_DEVICES, {NULL}},
    {"memory", AT(memory), 256l << 20, 0, 1l << 40, {NULL}},
    {"mode", AT(async), 0, 0, 1, {"sync", "async"}},
    {"seed", AT(seed), 1, 0, INT32_MAX, {NULL}},
    {"delay", AT(delay), 100, 0, 1000000, {NULL}},
    {"threads", AT(threads), 0, 0, 1024, {NULL}},
    {"sticky", AT(sticky), 0, 0, INT32_MAX, {NULL}},
    {"hang", AT(hang), 0, 0, INT32_MAX, {NULL}},
    {"connections", AT(connections), 0, 0, 32, {NULL}},
    {"strict", AT(strict), 0, 0, 1, {"no", "yes"}},
    {"driver", AT(driver), DRIVER_NEW, 0, 2, {"new", "none", "old"}},
    {"peer", AT(peer), 1, 0, 1, {"no", "yes"}},
    {"ipc", AT(ipc), 1, 0, 1, {"no", "yes"}},
    {"dmabuf", AT(dmabuf), 1, 0, 2, {"no", "yes", "absent"}},
    {"ordering", AT(ordering), ORDERING_NONE, 0, 2, {"none", "owner", "all"}},
    {"flush", AT(flush), 1, 0, 1, {"no", "yes"}},
    {"violations", AT(aborts), 1, 0, 1, {"status", "abort"}},
    {"sms", AT(sms), 16, 1, 1024, {NULL}},
    {"per_sm", AT(per_sm), 2, 1, 32, {NULL}},
    {"cooperative", AT(cooperative), 1, 0, 1, {"no", "yes"}},
    {"mps", AT(mps), 0, 0, 1, {"no", "yes"}},
    {"fabric", AT(fabric), FABRIC_NO, 0, 3, {"no", "yes", "channel", "daemon"}},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

#define CALL_NAME(name, error) #name,
static const char *const names[] = {STANDIN_CALLS(CALL_NAME)};

const char *standin_call_name(enum standin_call call)
{
    return names[call];
}

cudaError_t standin_call_error(enum standin_call call)
{
#define CALL_ERROR(name, error) error,
    static const cudaError_t errors[] = {STANDIN_CALLS(CALL_ERROR)};
    return errors[call];
}

static void setting_refuse(const char *word)
{
    fprintf(stderr,
            "cuda stand-in: CUDA_STANDIN has %s, which tests/cuda/runtime.h does not list\n", word);
    exit(2);
}

static long setting_read(const struct standin_setting *setting, const char *text, const char *word)
{
    for (long i = 0; setting->words[0] && i <= setting->most; i++)
        if (strcmp(setting->words[i], text) == 0)
            return i;
    char *end;
    long value = strtol(text, &end, 10);
    if (setting->words[0] || end == text || *end || value < setting->least || value > setting->most)
        setting_refuse(word);
    return value;
}

static void faults_read(struct standin_config *config, char *list)
{
    char *rest = NULL;
    for (char *each = strtok_r(list, "+", &rest); each; each = strtok_r(NULL, "+", &rest)) {
        char *colon = strchr(each, ':'), *end;
        if (!colon || config->fault_count == STANDIN_FAULTS)
            setting_refuse(each);
        *colon = '\0';
        int call = 0;
        while (call < STANDIN_CALL_COUNT && strcmp(names[call], each) != 0)
            call++;
        struct standin_fault *fault = &config->faults[config->fault_count++];
        fault->call = (enum standin_call)call;
        fault->at = strtoull(colon + 1, &end, 10);
        if (call == STANDIN_CALL_COUNT || fault->at == 0 ||
            (*end && (*end != ':' || !standin_error_find(end + 1, &fault->error))))
            setting_refuse(each);
        if (!*end)
            fault->error = standin_call_error(fault->call);
    }
}

void standin_parse(struct standin_config *config, const char *text)
{
    *config = (struct standin_config){0};
    for (size_t i = 0; i < SETTINGS; i++)
        *(long *)(void *)((char *)config + settings[i].at) = settings[i].usual;
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            setting_refuse(word);
        *value++ = '\0';
        if (strcmp(word, "fail") == 0) {
            faults_read(config, value);
            continue;
        }
        size_t i = 0;
        while (i < SETTINGS && strcmp(settings[i].name, word) != 0)
            i++;
        if (i == SETTINGS)
            setting_refuse(word);
        *(long *)(void *)((char *)config + settings[i].at) =
            setting_read(&settings[i], value, word);
    }
    free(copy);
}

/* As CUDA does: a word that names no device, or one that is there already, ends the list. */
void standin_cards_see(struct standin_config *config, struct standin_card *cards,
                       const char *visible)
{
    char *copy = strdup(visible ? visible : ""), *rest = NULL, *end;
    long count = 0;
    for (; !visible && count < config->devices; count++)
        cards[count] = (struct standin_card){.number = (int)count};
    for (char *word = strtok_r(copy, ",", &rest); word && count < STANDIN_DEVICES;
         word = strtok_r(NULL, ",", &rest)) {
        bool is_part = strncmp(word, "MIG-", 4) == 0, known = false;
        long number = strtol(is_part ? word + 4 : word, &end, 10);
        struct standin_card card = {.number = is_part ? 0 : (int)number,
                                    .part = is_part ? (int)number : 0};
        for (long i = 0; i < count; i++)
            known |= cards[i].number == card.number && cards[i].part == card.part;
        if (*end || end == word || number < is_part || known || card.number >= config->devices)
            break;
        cards[count++] = card;
    }
    config->devices = count;
    free(copy);
}

bool standin_cards_reach(int device, int peer)
{
    return standin.config.peer && standin.cards[device].part == 0 && standin.cards[peer].part == 0;
}

bool standin_card_find(const struct standin_card *card, int *device)
{
    for (int i = 0; i < standin.config.devices; i++) {
        if (standin.cards[i].number != card->number || standin.cards[i].part != card->part)
            continue;
        *device = i;
        return true;
    }
    return false;
}
