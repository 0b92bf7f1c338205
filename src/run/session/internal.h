/*
 * internal.h - for the files of run/session/ alone.
 */
#ifndef CCTEST_RUN_SESSION_INTERNAL_H
#define CCTEST_RUN_SESSION_INTERNAL_H

#include <sched.h>
#include <stdbool.h>

#include "host/host.h"
#include "run/run.h"
#include "run/session/session.h"

/* ---- What all test cases of a job will need on this rank: memory, peers and lanes. ---- */

struct needs {
    size_t bytes[BUFFERS];  /* the most of any test case */
    size_t dropped;         /* bytes of the longest message that --inject may drop; 0: none */
    struct peer_use *peers; /* by rank: of all test cases together */
    int lanes;              /* the most of any test case that the host runs */
    int device_channels;    /* the most, if devices run all that they may */
    int device_lanes;       /* likewise, for each channel */
};

void needs_free(struct needs *needs);

/* ---- Runs checked iterations, several in a row.
 *
 * The checker prepares several sets of buffers, each with other inputs. It then runs an iteration
 * on each set, in the job's start mode, exactly as timed iterations run. Only then does it compare
 * the results. So what an iteration leaves behind in slots and peers meets the next one, as it does
 * when it is timed. Sizes of which only one set fits are checked one by one.
 * ---- */

struct checker {
    struct runner *runner;
    struct buffers sets[BUFFER_SETS_MOST];
    int set_count;
    uint64_t checks;              /* iterations so far in the job; they number the patterns */
    bool struck[INJECTIONS_MOST]; /* injected faults of this rank that found a message */
};

/* Bytes that checker_open() will allocate. */
size_t checker_bytes(const struct job *job, const struct needs *needs);

/* Allocates the sets: the first with all that the test cases need, the others with less if that is
 * much, and without a spare area. */
enum status checker_open(struct checker *checker, struct runner *runner, const struct needs *needs);
void checker_close(struct checker *checker);

/* Runs the next checked iterations of a test case, and notes in its result what they found. If
 * these are the timed ones (CHECKED_ALL), notes also their times: what is done before and after an
 * iteration is outside of its time. */
enum status checker_run(struct checker *checker, const struct test_case *test_case, long iterations,
                        struct rank_result *rank_result);

/* Fails if a fault was asked for and never injected. */
enum status checker_check_injections(const struct checker *checker);

/* ---- session.c ---- */

struct postmortem {
    int ranks;
    struct device_changes *changes;  /* by rank */
    struct device_readings readings; /* which point into them */
};

/* ---- The state of one rank's session, for setup.c, sweep.c and session.c. ---- */

struct session {
    struct job job; /* a copy: algorithms that refuse these ranks are left out of `-a all` */
    const struct membership *membership;
    struct report *report; /* rank 0; else NULL */
    struct control *control;
    struct runner runner;
    struct checker checker; /* owns the buffers */
    struct results results;
    struct region regions[BUFFER_SETS_MOST + 2]; /* all that transfers name, until the links close:
                                                    of wires, buffers, start barrier and rings */
    struct region *rings;                        /* among them; NULL: no link can need any */
    struct needs needs;                          /* of all test cases */
    enum memory_use takes;                       /* of its host: what most of that memory is for */
    struct cpu_binding *bindings;                /* by rank */
    struct memory_device device, *devices; /* of this rank; by rank, once the places are known */
    bool has_core;                         /* that no other rank runs on */
    struct peer_exchange exchange;         /* its transports' */
    struct connectivity connectivity;      /* rank 0's, once all ranks are connected */
    struct device_watch watch;             /* of the NICs of its transports, and its GPU */
    struct postmortem postmortem;          /* rank 0's, of a job that has failed */
};

/* ---- Whether the devices of the ranks run their schedules (dataplane/execute/execute.h). ---- */

/* Bytes of the buffers' memory that this rank takes beside its buffers, for wires, if a device may
 * run schedules. */
size_t session_wire_bytes(const struct session *session);

/* Opens this rank's device for that, if it may. `has_room`: there is memory for wires. */
enum status session_open_devices(struct session *session, bool has_room);

/* Called by all ranks together, when they are connected: concludes whether their devices may run
 * schedules. Fails if the user insists, and none may. */
enum status session_settle_devices(struct session *session);

/* Called by all ranks together, before the first line that devices run, and before one with more
 * channels than any before it: runs it once, and finds whether the kernels of all ranks run at the
 * same time, which CUDA does not promise. If not, the host runs this line and all that follow. */
enum status session_try_devices(struct session *session, struct test_case *test_case);

/* ---- Where ranks are: on the parts of their host, and how near to its NICs. How far a
 * ring goes from one rank to the next.
 * ---- */

struct rank_place {
    struct host_place place;
    uint32_t nic; /* the level that it shares with the nearest NIC; 0: this host shows no NIC */
};

/* The place of a rank among CPUs, by the arguments of cpu_place_find(). `sysfs`: "/sys". */
struct rank_place rank_place_of_cpus(const char *sysfs, const cpu_set_t *masks, int count, int me,
                                     bool binds);

/* The place of a rank whose buffers a GPU has: the GPU, the GPUs that are joined by NVLinks
 * (`nvlinked`, see gpu_nvlinked()), its PCIe switch, its port of the host bridge, the host bridge,
 * the NUMA node. */
struct rank_place rank_place_of_gpu(const char *sysfs, const char *bus, uint32_t nvlinked);

void rank_place_code(struct codec codec, struct rank_place *place);

/* The length of a ring's way between two ranks, by the parts of the hosts that it leaves. */
uint32_t rank_places_distance(const struct rank_place *a, const struct rank_place *b,
                              bool of_one_host);

/* ---- The order of the ranks on a ring (order=auto), from where they run. ---- */

/* Fills runner->split.ring_place if a candidate asks for it. Called by all ranks together, before
 * any schedule is written, and after each has chosen its device. They exchange the CPUs that they
 * may use, if CPUs read their buffers, and then the places that follow. */
enum status session_find_ring(struct session *session);

/* ---- Prepares a rank to run the sweep: binds it, allocates its buffers, connects it. ---- */

/* Called by all ranks together after they have joined. */
enum status session_set_up(struct session *session);

/* ---- Runs all sizes and algorithms of the job: warm up, check, time, gather. ---- */

/* Called by all ranks together after session_set_up(). */
enum status session_sweep(struct session *session);

#endif
