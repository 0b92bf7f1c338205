/*
 * choice.c - chooses a rank's GPU, among those that CUDA_VISIBLE_DEVICES leaves, and names it.
 *
 * CUDA counts GPUs anew in each process, and a launcher may show each of them another one as number
 * 0. So ranks compare PCI addresses and UUIDs, never numbers.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "host/nvml/gpus.h"

#define GPUS_LISTED 8 /* in a sentence */

/* As CUDA's own current device: it belongs to the thread. */
static _Thread_local struct memory_device chosen = {.number = -1};

const struct memory_device *cuda_current(void)
{
    return &chosen;
}

void cuda_current_set(const struct memory_device *device)
{
    chosen = *device;
}

int cuda_devices_taken(const char *choices)
{
    int seen = cuda_driver_devices(), distinct = choices ? device_choice_distinct(choices) : seen;
    return seen > 0 && seen < distinct ? seen : distinct;
}

bool cuda_bus(int number, char bus[16])
{
    char text[32];
    bus[0] = 0;
    return cudaDeviceGetPCIBusId(text, sizeof text, number) == cudaSuccess && gpu_bus(text, bus);
}

/* Says the fault of a choice, and the devices that there are. */
static enum status choice_refuse(const struct device_choice *choice, int count)
{
    char wished[16], list[600] = "";
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct text text = text_in(list, sizeof list);
    snprintf(wished, sizeof wished, "%d", choice->number);
    for (int i = 0; i < count && i < GPUS_LISTED; i++) {
        struct memory_device device = {.number = i};
        char name[MEMORY_DEVICE_TEXT];
        cuda_bus(i, device.bus);
        text_add(&text, "%s%s", i ? ", " : "", memory_device_text(&device, name));
    }
    if (count > GPUS_LISTED)
        text_add(&text, " and %d more", count - GPUS_LISTED);
    return fail_option(STATUS_USAGE, "device",
                       "--device asks for GPU %s, which is not here: give one of %s%s%s",
                       choice->bus[0] ? choice->bus : wished, list,
                       visible ? "; CUDA_VISIBLE_DEVICES is " : "", visible ? visible : "");
}

/* The number of the GPU that is wished for; -1: it is not here. */
static int choice_find(const struct device_choice *choice, int count)
{
    char bus[16];
    if (!choice->bus[0])
        return choice->number < count ? choice->number : -1;
    for (int i = 0; i < count; i++) {
        cuda_bus(i, bus);
        if (strcmp(bus, choice->bus) == 0)
            return i;
    }
    return -1;
}

static enum status device_describe(int number, struct memory_device *device)
{
    struct cudaDeviceProp properties;
    *device = (struct memory_device){.number = number};
    cuda_bus(number, device->bus);
    cuda_current_set(device); /* its name for failures */
    CUDA_TRY(cudaGetDeviceProperties(&properties, number), "cannot read the properties of a GPU");
    struct text uuid = text_in(device->uuid, sizeof device->uuid);
    for (int i = 0; i < 16; i++)
        text_add(&uuid, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                 (unsigned char)properties.uuid.bytes[i]);
    snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1,
             properties.name);
    if (fabric_is_supported(number))
        gpu_domain(device->bus, device->domain);
    return STATUS_OK;
}

/* Devices to choose from, and the chosen one. */
struct choosing {
    const char *choices;
    int local_rank;
    struct memory_device device;
};

/* May take seconds: the first call starts the driver, and the last makes a context. */
static enum status device_choose(void *argument)
{
    struct choosing *choosing = argument;
    int count = 0, number;
    struct device_choice choice;
    CUDA_TRY(cudaGetDeviceCount(&count), "cannot use a GPU");
    if (count < 1)
        return cuda_failed(cudaErrorNoDevice, "cannot use a GPU");
    /* Entries that no rank takes are mistakes, too. */
    const int choices = choosing->choices ? device_choices(choosing->choices) : 0;
    for (int i = 0; i < choices; i++) {
        device_choice_at(choosing->choices, i, &choice);
        if (choice_find(&choice, count) < 0)
            return choice_refuse(&choice, count);
    }
    number = choosing->local_rank % count;
    if (choices > 0 && device_choice_at(choosing->choices, choosing->local_rank, &choice))
        number = choice_find(&choice, count);
    TRY(device_describe(number, &choosing->device));
    cuda_current_set(&choosing->device);
    CUDA_TRY(cudaSetDevice(number), "cannot use the GPU");
    return STATUS_OK;
}

enum status cuda_settle(const char *choices, int local_rank, const struct tick *tick,
                        struct memory_device *device)
{
    struct choosing *choosing = new_array(1, sizeof *choosing);
    bool abandoned;
    *choosing = (struct choosing){.choices = choices, .local_rank = local_rank};
    enum status status =
        cuda_wait_call(device_choose, choosing, tick, "cannot use a GPU", &abandoned);
    if (abandoned)
        return status;
    *device = choosing->device;
    free(choosing);
    if (status != STATUS_OK)
        return status;
    cuda_current_set(device);
    CUDA_TRY(cudaSetDevice(device->number), "cannot use the GPU");
    return STATUS_OK;
}
