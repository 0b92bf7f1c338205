/*
 * config.c - reads the settings of the provider.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define AT(member) offsetof(struct provider_config, member)

/* `words`: names of the values 0, 1 ... instead of numbers, divided by |. */
static const struct setting {
    const char *name;
    size_t at;
    long usual, least, most;
    const char *words;
} settings[] = {
    {"seed", AT(seed), 1, 0, INT32_MAX, NULL},
    {"order", AT(order), 1, 0, 1, NULL},
    {"overlap", AT(overlap), 1, 1, 64, NULL},
    {"iwarp", AT(iwarp), 0, 0, 2, NULL},
    {"hosts", AT(hosts), 1, 1, 64, NULL},
    {"devices", AT(devices), 1, 0, 8, NULL},
    {"ports", AT(ports), 1, 1, 2, NULL},
    {"subnets", AT(subnets), 1, 1, 8, NULL},
    {"link", AT(roce), 1, 0, 1, "ib|roce"},
    {"mtu", AT(mtu), 1024, 256, 4096, NULL},
    {"down", AT(down), -1, 0, 7, NULL},
    {"delay", AT(delay), 30, 0, 1000000, NULL},
    {"hold", AT(hold), 20, 0, 1000000, NULL},
    {"sges", AT(sges), 6, 1, 32, NULL},
    {"inline", AT(inline_most), 256, 0, 4096, NULL},
    {"excess", AT(excess), 0, 0, 2, NULL},
    {"sends", AT(sends), 4096, 1, 1 << 20, NULL},
    {"receives", AT(receives), 32768, 1, 1 << 20, NULL},
    {"srqs", AT(srqs), 1, 0, 1, NULL},
    {"entries", AT(entries), 65536, 1, 1 << 24, NULL},
    {"stall", AT(stall), 0, 0, 10000, NULL},
    {"destroy", AT(destroy), 0, 0, 10000, NULL},
    {"memlock", AT(memlock), 0, 0, INT32_MAX, NULL},
    {"patience", AT(patience), 0, 0, 1000000, NULL},
    {"rnr", AT(rnr_fails), 0, 0, 1, "allow|fail"},
    {"told", AT(told), 1, 0, 1, NULL},
    {"late", AT(late), 20000, 0, 1000000, NULL},
    {"sl", AT(sl), -1, 0, 15, NULL},
    {"tclass", AT(tclass), -1, 0, 255, NULL},
    {"dmabuf", AT(dmabuf), 1, 0, 1, NULL},
    {"peermem", AT(peermem), 0, 0, 1, NULL},
    {"flush", AT(flush), 0, 0, 1, NULL},
    {"recheck", AT(recheck), 1, 0, 1, NULL},
    {"violations", AT(aborts), 1, 0, 1, "status|abort"},
    {"report", AT(report), 0, 0, 1, NULL},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void config_refuse(const char *word)
{
    fprintf(stderr,
            "verbs provider: VERBS_STRICT has %s, which tests/verbs/provider.h does not list\n",
            word);
    exit(2);
}

static long setting_value(const struct setting *setting, const char *text, const char *word)
{
    if (setting->words) {
        const char *bar = strchr(setting->words, '|');
        size_t first = (size_t)(bar - setting->words);
        if (strlen(text) == first && strncmp(text, setting->words, first) == 0)
            return 0;
        if (strcmp(text, bar + 1) != 0)
            config_refuse(word);
        return 1;
    }
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < setting->least || value > setting->most)
        config_refuse(word);
    return value;
}

static void faults_parse(struct provider_config *config, char *list, const char *word)
{
    char *rest = NULL;
    for (char *each = strtok_r(list, "+", &rest); each; each = strtok_r(NULL, "+", &rest)) {
        char *colon = strchr(each, ':'), *end;
        if (!colon || config->fault_count == FAULTS_MOST)
            config_refuse(word);
        *colon = '\0';
        struct fault *fault = &config->faults[config->fault_count++];
        fault->kind = fault_find(each);
        fault->at = strtoull(colon + 1, &end, 10);
        if (fault->kind < 0 || *end || fault->at == 0)
            config_refuse(word);
    }
}

void config_parse(struct provider_config *config, const char *text)
{
    *config = (struct provider_config){0};
    for (size_t i = 0; i < SETTINGS; i++)
        *(long *)((char *)config + settings[i].at) = settings[i].usual;
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            config_refuse(word);
        *value++ = '\0';
        if (strcmp(word, "fail") == 0) {
            faults_parse(config, value, word);
            continue;
        }
        size_t i = 0;
        while (i < SETTINGS && strcmp(settings[i].name, word) != 0)
            i++;
        if (i == SETTINGS)
            config_refuse(word);
        *(long *)((char *)config + settings[i].at) = setting_value(&settings[i], value, word);
    }
    free(copy);
}
