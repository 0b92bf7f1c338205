/*
 * collect.c - asks each source of facts, in a thread with a limit.
 */
#include "host/facts/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/timed_call.h"
#include "host/host.h"

static const struct fact_source {
    const char *name;
    void (*read)(const struct inventory_source *source, struct inquiry *inquiry,
                 struct inventory *inventory);
} fact_sources[] = {
    {"CPUs", cpu_facts},
    {"memory", memory_facts_add},
    {"system", system_facts},
    {"NICs", nic_facts},
    {"network interfaces", interface_facts},
    {"GPUs", gpu_facts},
    {"drives", drive_facts},
};

/* What the thread uses, that may outlive the call. */
struct asking {
    const struct fact_source *of;
    struct inventory_source source;
    struct inquiry inquiry;
    struct inventory inventory;
};

struct inventory_source inventory_here(const char *host)
{
    return (struct inventory_source){
        .root = "", .host = host, .patience = 5, .firmware = netdev_firmware, .asks_nvml = true};
}

static void asking_run(void *argument)
{
    struct asking *asking = argument;
    asking->of->read(&asking->source, &asking->inquiry, &asking->inventory);
}

/* False: a signal ends the process. */
static bool source_ask(const struct inventory_source *source, const struct fact_source *of,
                       struct inventory *inventory)
{
    char text[INQUIRY_TEXT_MOST];
    struct asking *asking = calloc(1, sizeof *asking);
    inventory->failed |= !asking;
    if (!asking)
        return true;
    asking->of = of;
    asking->source = *source;
    inquiry_init(&asking->inquiry, of->name);
    int end = timed_call_run(asking_run, asking, source->patience);
    if (end == 0) {
        inventory_append(inventory, &asking->inventory);
    } else {
        if (end == ETIMEDOUT)
            inquiry_text(&asking->inquiry, source->host, text);
        else
            timed_call_text(end, text, sizeof text);
        inventory_add_text(inventory, PART_HOST, of->name, "silent", text);
    }
    if (!timed_call_is_abandoned(end)) {
        inventory_free(&asking->inventory);
        free(asking);
    }
    timed_call_reraise(end);
    return end >= 0;
}

void inventory_collect(const struct inventory_source *source, struct inventory *inventory)
{
    bool goes_on = true;
    for (size_t i = 0; i < sizeof fact_sources / sizeof *fact_sources && goes_on; i++)
        goes_on = source_ask(source, &fact_sources[i], inventory);
}
