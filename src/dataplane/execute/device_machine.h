/*
 * device_machine.h - what runs flat plans for one rank: a device, such as a GPU, and its driver.
 *
 * A plan has two copies: in pinned memory of the host, where it is written, and in memory of the
 * device, where it runs. Runs follow each other in one stream. A machine belongs to one thread.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_DEVICE_MACHINE_H
#define CCTEST_DATAPLANE_EXECUTE_DEVICE_MACHINE_H

#include "base/tick.h"
#include "dataplane/execute/flat_plan.h"
#include "dataplane/memory/memory.h"

struct device_machine;

struct machine_config {
    uint32_t blocks; /* the most of a plan, if the device holds so many */
    bool replays;    /* launches are captured once, as a graph, and replayed */
    const struct tick *tick;
};

/* Memory of the host, pinned and mapped, that a run reads and writes. */
struct machine_words {
    size_t *abort;                   /* not 0: runs give up */
    struct whereabouts *whereabouts; /* of each block */
};

/* A plan, as it is launched. */
struct machine_run {
    size_t at; /* where the plan lies in the room */
    uint32_t blocks;
    void *graph; /* of the machine */
};

struct machine_hooks {
    const struct memory_kind *kind; /* whose memory plans move */

    /* Loads the kernel, lets it run once without a plan, and allocates all that lasts. No rank runs
     * a plan meanwhile. STATUS_UNAVAILABLE: the device runs no plans: writes why into `reason`
     * (MEMORY_REASON_MOST bytes; one clause), and records no failure. On success the caller calls
     * close(). */
    enum status (*open)(const struct machine_config *config, struct device_machine **machine,
                        char *reason);

    /* Room for `bytes` bytes of plans, in place of what there was. It may wait for all work of the
     * device, so no rank runs a plan meanwhile. *room: the pinned copy. */
    enum status (*reserve)(struct device_machine *machine, size_t bytes, char **room);

    /* Copies bytes [at, at + bytes) of the room to the device, before the next run. */
    enum status (*upload)(struct device_machine *machine, size_t at, size_t bytes);

    /* Waits until all uploads and preparations are over, and ticks. */
    enum status (*settle)(struct device_machine *machine);

    /* What a run needs before its first launch; forget() gives it back. Like reserve(), both may
     * wait for all work of the device. */
    enum status (*prepare)(struct device_machine *machine, struct machine_run *run);
    void (*forget)(struct device_machine *machine, struct machine_run *run);

    /* Begins a run; the last one must be complete. */
    enum status (*launch)(struct device_machine *machine, const struct machine_run *run);

    /* Never waits. *complete: the run is over; *ns: what it took by the device's clock. */
    enum status (*poll)(struct device_machine *machine, bool *complete, uint64_t *ns);

    /* Waits for a run that was aborted, a few seconds at most. False: the device still works. */
    bool (*rest)(struct device_machine *machine);
    /* `frees`: no device of the job works any more. Else what the device has is left until the
     * process ends, since to free it might wait for ever. */
    void (*close)(struct device_machine *machine, bool frees);
};

/* The first member of whatever runs plans. */
struct device_machine {
    const struct machine_hooks *hooks;
    struct machine_words words;
    uint32_t blocks_most; /* that the device holds at once, of all ranks together */
    bool shares;          /* kernels of several processes run on it at once */
};

/* In a cctest without CUDA it cannot be opened. */
extern const struct machine_hooks device_machine_cuda;

#endif
