/*
 * execute.h - the interface of dataplane/execute/.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_EXECUTE_H
#define CCTEST_DATAPLANE_EXECUTE_EXECUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/rank_state.h"
#include "base/tick.h"
#include "dataplane/execute/flat_plan.h"
#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"

/* ---- What runs flat plans for one rank: a device, such as a GPU, and its driver.
 *
 * A plan has two copies: in pinned memory of the host, where it is written, and in memory of the
 * device, where it runs. Runs follow each other in one stream. A machine belongs to one thread.
 * ---- */

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

    /* Prepares what a run needs before its first launch; forget() gives it back. Like reserve(),
     * both may wait for all work of the device. */
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

/* ---- The ranks whose devices run their schedules together, as one of them sees it.
 *
 * The kernel of a rank waits for kernels of other ranks. So all ranks must agree that all of them
 * run there: the ranks' kernels must fit on their devices at the same time, and each must reach the
 * memory of its peers: they are on one host, or all devices in one NVLink domain.
 *
 * The order of calls: device_group_open; device_group_encode, an exchange of what it made,
 * device_group_decode of each rank's, this one's too; device_group_settle. Then, for each line,
 * device_group_reach of each peer, device_group_clear, an executor for each schedule
 * (execute.h), device_group_load; and no rank runs one before all have come so far.
 * ---- */

#define DEVICE_SETS_MOST  4 /* sets of buffers */
#define GROUP_REASON_MOST 400

/* A plan of a line. */
struct device_plan {
    struct flat_plan *plan; /* until it is loaded; then it lies in the group's room */
    struct machine_run run;
    struct device_plan *next;
};

/* How messages that are not moved by zcopy pass. */
enum device_protocol {
    PROTOCOL_AUTO,   /* short ones by ll */
    PROTOCOL_SIMPLE, /* data, then a count that releases it */
    PROTOCOL_LL,     /* all messages: each 4 bytes of data in one word with a flag */
};

struct device_group_config {
    const struct memory_kind *memory;
    const struct memory_device *device;  /* of this rank */
    const struct memory_device *devices; /* by rank, from open() on until the group is closed */
    int rank, ranks;
    const struct member *members; /* by rank; valid until the group is closed */
    const char *transport;        /* by whose name reports call messages of devices; static */
    int channels;                 /* the most blocks of a run */
    bool fits_channels;           /* fewer will do, where devices or wires hold no more */
    int lanes;                    /* the most of a schedule, for each of its channels */
    enum copy_policy copy;
    enum device_protocol protocol;
    size_t chunk;      /* --chunk: bytes; 0 or GRAIN_AUTO: the group's choice */
    int slots;         /* of a lane; 0: the group's choice */
    size_t slot_bytes; /* likewise */
    bool drops;        /* some rank may drop a message (an injected fault) */
    bool replays;      /* --graph */
    bool has_room;     /* the device has memory for the wires of all its ranks */
    const struct tick *tick;
};

/* Is there a machine for this kind of memory? */
bool device_group_serves(const struct memory_kind *kind);

/* The most channels of a line: `channels`, or fewer (fits_channels) that leave slots their size.
 * The same on all ranks. */
int device_group_channels_most(const struct device_group_config *config);

/* Bytes of its wires, as far as it needs any; 0: none, or so many that this rank runs nothing on
 * its device. Asks for no device but this rank's. */
size_t device_group_wire_bytes(const struct device_group_config *config);

/* Where the buffers of a set lie in a region. */
struct device_set {
    const struct region *region;
    char *base[BUFFERS];
};

/* A rank's words to the others. */
struct device_offer {
    char reason[GROUP_REASON_MOST]; /* why its device runs no schedules; "" */
    bool is_by_use;                 /* because of an option of the user */
    uint64_t process;
    uint32_t blocks_most; /* that the device holds */
    bool shares;          /* the device runs kernels of several processes at once */
    uint32_t lanes;
    uint32_t sets;
    uint64_t offset[DEVICE_SETS_MOST][BUFFERS]; /* of buffers in the region of their set */
};

/* Regions that a rank lends: its wires, and those of its sets. */
#define DEVICE_REGIONS_MOST (1 + DEVICE_SETS_MOST)

/* A rank, as this one reaches its memory. */
struct device_peer {
    struct memory_handle handles[DEVICE_REGIONS_MOST];
    struct memory_mapping mappings[DEVICE_REGIONS_MOST];
    int mapped; /* the first so many regions */
};

struct device_group {
    struct device_group_config config;
    struct region wires;            /* memory of the device, for this rank's halves of its lanes */
    struct device_machine *machine; /* NULL: offers[rank].reason says why */
    struct device_offer *offers;    /* by rank */
    struct device_peer *peers;      /* by rank */
    struct traffic traffic;         /* of all runs so far */
    size_t slots, slot_bytes, ll_bytes, ll_most, zcopy_least; /* as in struct flat_config */
    char refusal[GROUP_REASON_MOST];  /* why no line runs there; "": any may */
    bool refused_by_use;              /* because of an option of the user */
    int channels;                     /* the most blocks of a run, once settled */
    int tried;                        /* blocks of each rank that have run at the same time */
    bool is_abandoned;                /* some have not, and may never end */
    char *room;                       /* the machine's, with the plans of the line at hand */
    struct device_plan *first, **end; /* in the order in which they were added */
};

/* Opens the machine and allocates the wires. That the device runs no schedules is no error:
 * offers[rank].reason says why, or, on all ranks alike, `refusal`: then what follows is left out.
 * Free with device_group_close(), also after an error. */
enum status device_group_open(const struct device_group_config *config, struct device_group *group);

/* Ends a run that does not end by itself. False: a device still works, perhaps another rank's, so
 * that the memory of peers must stay mapped. All zero is allowed, here and below. */
bool device_group_stop(struct device_group *group);

/* Unmaps the memory of peers. Only after device_group_stop() has said that this can be done. */
void device_group_unmap(struct device_group *group);

/* After device_group_stop(). `frees`: the groups of all ranks have stopped, and no rank maps the
 * wires any more. Else what the device has is left until the process ends. */
void device_group_close(struct device_group *group, bool frees);

/* `sets`: those of this rank, which lends their regions. */
enum status device_group_encode(struct device_group *group, const struct device_set *sets,
                                int count, struct bytes *share);
bool device_group_decode(struct device_group *group, int rank, struct reader *reader);

/* Concludes from all offers whether lines may run on the devices: the same on every rank. */
void device_group_settle(struct device_group *group);

/* Maps the memory of `peer`, if that has not been done. No kernel runs meanwhile.
 * STATUS_UNAVAILABLE: it cannot be mapped: writes why into `reason` (GROUP_REASON_MOST bytes), and
 * records no failure. */
enum status device_group_reach(struct device_group *group, int peer, char *reason);

/* Forgets the plans of the last line, none of which runs. */
void device_group_clear(struct device_group *group);

/* Copies all plans of the line to the device. No rank runs any meanwhile. */
enum status device_group_load(struct device_group *group);

/* ---- What a rank runs again and again: started, then polled to its end. An executor runs
 * a schedule, a vendor's library a collective of its own.
 * ---- */

/* Where a run stands: its first incomplete operation, in program order. */
struct position {
    int operation; /* index in the schedule; -1: none */
    enum operation_kind kind;
    int peer, lane, step; /* step: STEP_VENDOR in a vendor's collective, which shows none */
    size_t done, length;  /* bytes */
};

struct execution;

struct execution_hooks {
    /* Begins a run; the last one must be complete. */
    enum status (*start)(struct execution *execution);
    /* Moves what can be moved, without waiting. *complete: the run is over. *moved: this call has
     * moved something. */
    enum status (*progress)(struct execution *execution, bool *moved, bool *complete);
    /* Called now and then while nothing moves: fails if the run can no longer come to its end. */
    enum status (*check)(const struct execution *execution);
    void (*position)(const struct execution *execution, struct position *position);
    /* How long a device took for the last run, by its own clock, ns. NULL: no device ran it. */
    uint64_t (*device_time)(const struct execution *execution);
    /* Injects the fault into incoming message `nth` (from 0) of the next run. NULL, like the next:
     * it shows no messages. */
    void (*inject)(struct execution *execution, enum fault_kind fault, int nth);
    /* True if no message has met the injected fault yet. */
    bool (*inject_pending)(const struct execution *execution);
    void (*destroy)(struct execution *execution);
};

/* The first member of whatever is run. */
struct execution {
    const struct execution_hooks *hooks;
};

static inline void execution_destroy(struct execution *execution) /* NULL is allowed */
{
    if (execution)
        execution->hooks->destroy(execution);
}

/* ---- The device executor: runs a schedule inside the devices of a group, without
 * the host in the loop.
 * ---- */

struct device_executor_config {
    struct device_group *group;      /* which has settled and refuses nothing */
    const struct schedule *schedule; /* lives longer than the executor; all its peers are reached */
    /* By rank: the schedules of its peers, which need not be built to run. Only now. */
    const struct schedule *const *peers;
    char *buffer[BUFFERS]; /* addresses of source, destination, scratch */
    int set;               /* of buffers, the same at all ranks */
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: it combines nothing */
    struct profile *profile;           /* NULL: no profile */
};

/* It runs after the next device_group_load(). */
enum status device_executor_create(const struct device_executor_config *config,
                                   struct execution **execution);

/* Have all blocks of the last run begun? */
bool device_executor_has_begun(const struct execution *execution);

/* ---- Messages in memory that a link does not reach, by way of rings in memory that it does.
 *
 * Each such channel has a ring. To send, the engine of the memory copies into the ring, and the
 * link sends out of it. To receive, the link receives into the ring, and the engine copies or
 * combines out of it. The two take turns by parts of the ring, at least two of which are under
 * way. The transport sees messages of a strided layout, and knows nothing of it.
 * ---- */

struct staging; /* the rings of one rank */

/* Rings for at most `channels` channels, of `bytes` bytes each, one behind the other in the memory
 * at `base`, which a CPU reads, which the engine of `memory` reaches, and which lies in a region of
 * the links. `base` is aligned to the elements, and `bytes` a multiple of their size. Both memories
 * last longer than the staging. NULL: out of memory. */
struct staging *staging_create(const struct memory *memory, char *base, size_t bytes, int channels);
void staging_destroy(struct staging *staging); /* NULL is allowed */

/* A message that goes through a ring. */
struct staged_message {
    struct transfer *transfer;   /* the executor's: its limit is read, its `done` is raised */
    struct transfer link, local; /* between link and ring; between ring and memory */
    struct piece pieces[3];      /* of the ring: up to its end, whole rounds, the rest */
    struct stage_ring *ring;
    size_t begin;                /* bytes of the ring's messages before this one */
    size_t counted;              /* bytes of it that the endpoint's traffic counts as copied */
    struct staged_message *next; /* in the ring's order */
};

/* Finds the ring of the channel, which it may be the first to use. STATUS_ERROR if all rings are
 * taken. */
enum status stage_prepare(struct staging *staging, const struct channel *channel,
                          struct staged_message *message);

/* In place of channel_post(). */
void stage_post(struct staged_message *message, struct channel *channel, struct transfer *transfer);

/* Passes on what links and engine have done since the last call, both ways. */
void staging_progress(struct staging *staging);

/* Is a message under way, so that the engine must progress? */
bool staging_is_active(const struct staging *staging);

/* ---- When a rank has ended each step of a schedule.
 *
 * A step ends with the last of its operations. Executors note it where a rank has a clock.
 * ---- */

struct step_clock {
    int steps; /* of the schedule, as it labels them */
    uint64_t
        *ended; /* clock_ns() at the end of each, in the last run; 0: this rank has no part in it */
};

/* An operation of this step is complete. NULL is allowed: no clock. */
static inline void step_clock_note(struct step_clock *clock, int step)
{
    if (clock)
        clock->ended[step] = clock_ns();
}

/* ---- The executor: runs a schedule over transports, on the memory of this rank.
 *
 * An executor is one schedule made ready for given buffers: addresses and channels are found once,
 * and each run only resets and posts. It is started and polled, so that its caller can do other
 * things in between.
 * ---- */

struct executor_config {
    const struct schedule *schedule; /* must live longer than the executor */
    char *buffer[BUFFERS];           /* addresses of source, destination, scratch */
    char *spare;                     /* where an injected fault drops a message, of any length that
                                        comes in; NULL: none is dropped */
    size_t element;                  /* bytes */
    reduce_function *reduce;         /* NULL if the schedule reduces nothing */
    finish_function *finish;         /* NULL if it finishes no result */
    size_t chunk;             /* grain in bytes; 0: whole messages; GRAIN_AUTO: by their length */
    size_t nontemporal_least; /* buffers of so many bytes together fit into no cache */
    struct memory memory;     /* where the buffers lie */
    struct links *links;
    struct staging *staging;  /* for links that do not reach that memory; NULL: all do */
    struct profile *profile;  /* NULL: no profile */
    struct step_clock *clock; /* likewise; it has the steps of the schedule */
};

/* The channels that the schedule uses must be connected. check() fails if a peer that the run waits
 * for is gone. */
enum status executor_create(const struct executor_config *config, struct execution **execution);

#endif
