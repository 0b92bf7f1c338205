/*
 * device_group.h - the ranks whose devices run their schedules together, as one of them sees it.
 *
 * The kernel of a rank waits for kernels of other ranks. So all ranks must agree that all of them
 * run there: the ranks' kernels must fit on their devices at the same time, and each must reach the
 * memory of its peers: they are on one host, or all devices in one NVLink domain.
 *
 * The order of calls: device_group_open; device_group_encode, an exchange of what it made,
 * device_group_decode of each rank's, this one's too; device_group_settle. Then, for each line,
 * device_group_reach of each peer, device_group_clear, an executor for each schedule
 * (device_executor.h), device_group_load; and no rank runs one before all have come so far.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_DEVICE_GROUP_H
#define CCTEST_DATAPLANE_EXECUTE_DEVICE_GROUP_H

#include "base/bytes.h"
#include "dataplane/execute/device_machine.h"
#include "dataplane/transport/transport.h"
#include "base/rank_state.h"

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

/* What a rank tells the others. */
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

/* Where this rank's device finds the two halves of a lane's direction (flat_config.halves). The
 * peer is reached. `context`: the group. */
void device_group_halves(void *context, int peer, int lane, bool sends, struct flat_half **mine,
                         struct flat_half **theirs);

/* Where it finds the buffers of a set of `peer`. */
void device_group_buffers(const struct device_group *group, int peer, int set, char *base[BUFFERS]);

/* Forgets the plans of the last line, none of which runs. */
void device_group_clear(struct device_group *group);

/* Takes over the plan; its place in the line is valid until device_group_clear(). NULL: out of
 * memory. */
struct device_plan *device_group_add(struct device_group *group, struct flat_plan *plan);

/* Copies all plans of the line to the device. No rank runs any meanwhile. */
enum status device_group_load(struct device_group *group);

/* Makes a run that does not end give up. */
void device_group_abort(const struct device_group *group);

#endif
