/*
 * nvml.c - the NVML for tests: its settings, how calls begin, its handles.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nvml_standin.h"
#include "nvml_state.h"

struct nvml_state nvml = {.lock = PTHREAD_MUTEX_INITIALIZER};

void nvml_violation(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("nvml stand-in: violation: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* Settings. */

static void rules_read(const char *key, char *values)
{
    char *rest = NULL;
    for (char *each = strtok_r(values, "+", &rest); each; each = strtok_r(NULL, "+", &rest)) {
        if (nvml.rule_count == NVML_RULES)
            nvml_violation("too many settings");
        struct nvml_rule *rule = &nvml.rules[nvml.rule_count++];
        const char *colon = strcmp(key, "hang") == 0 ? strrchr(each, ':') : strchr(each, ':');
        snprintf(rule->key, NVML_WORD, "%s", key);
        snprintf(rule->word, NVML_WORD, "%s", colon ? colon + 1 : each);
        sscanf(each, "%u:%u:%u", &rule->numbers[0], &rule->numbers[1], &rule->numbers[2]);
    }
}

static void settings_read(const char *text)
{
    static const char *const keys[] = {"differs", "grow",    "xid",  "down",   "lost", "gone",
                                       "mig",     "without", "hang", "clique", "alone"};
    char copy[1024], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        bool known = false;
        if (!value)
            nvml_violation("the setting %s has no value", word);
        *value++ = 0;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            known |= strcmp(keys[i], word) == 0;
        if (strcmp(word, "library") == 0)
            snprintf(nvml.library, NVML_WORD, "%s", value);
        else if (strcmp(word, "driver") == 0)
            snprintf(nvml.driver, NVML_WORD, "%s", value);
        else if (strcmp(word, "devices") == 0 && atoi(value) >= 0 && atoi(value) <= NVML_GPUS)
            nvml.devices = (unsigned)atoi(value);
        else if (known)
            rules_read(word, value);
        else
            nvml_violation("tests/cuda/nvml_standin.h does not list %s=%s", word, value);
    }
}

static void exit_check(int status, void *unused)
{
    (void)unused;
    for (int i = 0; i < NVML_EVENTS; i++)
        if (status == 0 && nvml.pid == getpid() && nvml.events[i].open && !nvml.hangs)
            nvml_violation("an event set is left at the end");
}

void nvml_standin_configure(const char *text)
{
    pthread_mutex_lock(&nvml.lock);
    if (!nvml.pid)
        on_exit(exit_check, NULL);
    nvml.pid = getpid();
    snprintf(nvml.library, NVML_WORD, "yes");
    nvml.devices = 2;
    snprintf(nvml.driver, NVML_WORD, "580.65.06");
    nvml.rule_count = 0;
    memset(nvml.rules, 0, sizeof nvml.rules);
    for (unsigned i = 0; i < NVML_HANDLES; i++)
        nvml.handles[i] = (struct nvmlDevice_st){.gpu = i / (1 + NVML_PARTS),
                                                 .part = (int)(i % (1 + NVML_PARTS)) - 1};
    settings_read(text ? text : getenv("NVML_STANDIN"));
    pthread_mutex_unlock(&nvml.lock);
}

static void configure_once(void)
{
    if (!nvml.pid)
        nvml_standin_configure(NULL);
}

/* As a shared library the stand-in is loaded by src/host/nvml/nvml.c. */
nvmlReturn_t nvmlInit_v2(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure_once);
    nvml_call(__func__, 0);
    return strcmp(nvml.library, "fails") == 0 ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS;
}

const char *nvml_load(void)
{
    nvmlInit_v2();
    if (nvml.pid != getpid())
        nvml_violation("NVML was loaded before a fork");
    if (strcmp(nvml.library, "no") == 0)
        return "libnvidia-ml.so.1 cannot be loaded (no such file): install the driver's libraries";
    return strcmp(nvml.library, "fails") == 0 ? "NVML says: driver/library version mismatch" : NULL;
}

const struct nvml_rule *nvml_rule_of(const char *key, unsigned gpu, const char *word)
{
    for (int i = 0; i < nvml.rule_count; i++) {
        const struct nvml_rule *rule = &nvml.rules[i];
        if (strcmp(rule->key, key) == 0 && rule->numbers[0] == gpu &&
            (!word || strcmp(rule->word, word) == 0))
            return rule;
    }
    return NULL;
}

bool nvml_is_without(const char *name)
{
    for (int i = 0; i < nvml.rule_count; i++)
        if (strcmp(nvml.rules[i].key, "without") == 0 && strcmp(nvml.rules[i].word, name) == 0)
            return true;
    return false;
}

void nvml_call(const char *function, unsigned gpu)
{
    for (int i = 0; i < nvml.rule_count; i++) {
        struct nvml_rule *rule = &nvml.rules[i];
        if (strcmp(rule->key, "hang") != 0 || rule->numbers[0] != gpu ||
            strcmp(rule->word, function) != 0 || ++rule->calls != rule->numbers[1])
            continue;
        nvml.hangs = true;
        for (;;)
            pause();
    }
}

/* The checks of every call, and so of one for a GPU. */
static nvmlReturn_t enter(const char *function)
{
    if (nvml.pid != getpid())
        nvml_violation("%s() in a process that has not loaded NVML", function);
    if (strcmp(nvml.library, "yes") != 0)
        nvml_violation("%s() although NVML could not be loaded", function);
    return nvml_is_without(function) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t nvml_enter(const char *function)
{
    nvml_call(function, 0);
    return enter(function);
}

nvmlReturn_t nvml_enter_device(const char *function, nvmlDevice_t device)
{
    if (device < nvml.handles || device >= nvml.handles + NVML_HANDLES ||
        device->gpu >= nvml.devices)
        nvml_violation("%s() with a handle that NVML has not given", function);
    nvml_call(function, device->gpu);
    const struct nvml_rule *lost = nvml_rule_of("lost", device->gpu, NULL);
    nvmlReturn_t result = enter(function);
    return lost && device->readings >= lost->numbers[1] ? NVML_ERROR_GPU_IS_LOST : result;
}

bool nvml_differs(nvmlDevice_t device, const char *what)
{
    return nvml_rule_of("differs", device->gpu, what);
}

void nvml_bus_write(unsigned gpu, char *text, size_t size)
{
    snprintf(text, size, "00000000:%02X:00.0", 0x1a + 8 * gpu);
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    return result == NVML_ERROR_GPU_IS_LOST         ? "GPU is lost"
           : result == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded"
                                                    : "Not Found";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    nvmlReturn_t result = nvml_enter(__func__);
    snprintf(version, length, "%s", nvml.driver);
    return result;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = nvml.devices;
    return nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    nvmlReturn_t result = nvml_enter(__func__);
    if (index >= nvml.devices)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = &nvml.handles[index * (1 + NVML_PARTS)];
    return result;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device)
{
    nvmlReturn_t result = enter(__func__);
    for (unsigned i = 0; i < nvml.devices; i++) {
        char own[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
        nvml_bus_write(i, own, sizeof own);
        if (strcasecmp(own, bus) != 0 && strcasecmp(own + 4, bus) != 0)
            continue;
        *device = &nvml.handles[i * (1 + NVML_PARTS)];
        return result == NVML_SUCCESS ? nvml_enter_device(__func__, *device) : result;
    }
    return NVML_ERROR_NOT_FOUND;
}
