/*
 * nvml_state.h - what the files of the NVML for tests share.
 */
#ifndef CCTEST_TEST_CUDA_NVML_STATE_H
#define CCTEST_TEST_CUDA_NVML_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/nvml/nvml.h"

#define NVML_GPUS    8
#define NVML_LINKS   4
#define NVML_PARTS   2
#define NVML_RULES   16
#define NVML_WORD    48
#define NVML_EVENTS  64
#define NVML_HANDLES (NVML_GPUS * (1 + NVML_PARTS))

/* A setting of a GPU, such as "grow=0:4:1". */
struct nvml_rule {
    char key[NVML_WORD];
    unsigned numbers[3];
    char word[NVML_WORD];   /* what stands behind the first colon (hang: behind the last), or all */
    _Atomic unsigned calls; /* hang: so far */
};

struct nvmlDevice_st {
    unsigned gpu;
    int part; /* -1: the whole GPU */
    _Atomic unsigned readings;
    uint64_t grown[512];
};

struct nvmlEventSet_st {
    bool open;
    unsigned gpu, looks;
};

struct nvml_state {
    pthread_mutex_t lock;
    pid_t pid; /* 0: it is not loaded */
    char library[NVML_WORD];
    unsigned devices;
    char driver[NVML_WORD];
    struct nvml_rule rules[NVML_RULES];
    int rule_count;
    struct nvmlDevice_st handles[NVML_HANDLES];
    struct nvmlEventSet_st events[NVML_EVENTS];
    atomic_bool hangs; /* a call does */
};
extern struct nvml_state nvml;

/* Ends the process. */
void nvml_violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The rule of a key for a GPU; NULL: none. `word`: NULL: any. */
const struct nvml_rule *nvml_rule_of(const char *key, unsigned gpu, const char *word);
bool nvml_is_without(const char *name);
bool nvml_differs(nvmlDevice_t device, const char *what);
void nvml_bus_write(unsigned gpu, char *text, size_t size);

/* How calls begin. nvml_call() may never return. */
void nvml_call(const char *function, unsigned gpu);
nvmlReturn_t nvml_enter(const char *function);
nvmlReturn_t nvml_enter_device(const char *function, nvmlDevice_t device);

#define NVML_ENTER(device)                                                                         \
    do {                                                                                           \
        nvmlReturn_t entered = nvml_enter_device(__func__, device);                                \
        if (entered != NVML_SUCCESS)                                                               \
            return entered;                                                                        \
    } while (0)

#endif
