/*
 * host.h - the identity of a host, by which ranks find out whether they share one, and the open
 * files of its processes.
 */
#ifndef CCTEST_BASE_HOST_H
#define CCTEST_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_NAME_BYTES 64

/* Plain text, so that it can be sent as it is. */
struct host_id {
    char name[HOST_NAME_BYTES];
    char boot[40]; /* the kernel's boot id, which tells hosts of one name apart; "": unknown */
};

/* Advice for when a process or a thread cannot be started. */
#define HOST_START_ADVICE                                                                          \
    "start fewer ranks, or raise the limits of processes (ulimit -u), address space (ulimit -v) "  \
    "and data (ulimit -d)"

/* The host's name, cut off at `size`; "unnamed" if it has none. */
void host_name(char *text, size_t size);

/* This host. All bytes of `id` are set. */
void host_identify(struct host_id *id);

/* Do both texts of an id that was received end within their bounds? */
bool host_id_is_valid(const struct host_id *id);

/* A total order of hosts, for sorting: by name, then by boot id. */
int host_compare(const struct host_id *a, const struct host_id *b);
/* Are these the same host? An unknown boot id equals any. */
bool host_same(const struct host_id *a, const struct host_id *b);
/* Why they are not, about the other, in `text` or static; NULL: they are. */
const char *host_difference(const struct host_id *own, const struct host_id *other, char *text,
                            size_t size);

/* Tells hosts apart: from name and boot id. Never 0. */
uint64_t host_identity(void);
/* Tells the processes of a job apart, on all hosts and in all PID namespaces. Never 0. */
uint64_t host_process_identity(void);

/* Makes a file of memory for other processes to map: empty; it may grow and never shrinks, so that
 * no mapping of it loses its pages. Returns its descriptor, or -1 with errno. */
int host_create_memory(const char *name);

/* Opens what host_create_memory() returned as `fd` in process `pid` of this host, with open()'s
 * flags. Returns -1 with errno: ESTALE if another file is open there by now, one that can shrink,
 * or one of fewer than `least` bytes. */
int host_open_memory(pid_t pid, int fd, int flags, uint64_t least);

/* The state of process `pid` of this host, as /proc shows it: 'R', 'T' (stopped), 't' (stopped by a
 * debugger), 'Z' (dead) and others; 0: there is none. */
char host_process_state(pid_t pid);

/* Does this thread of this process run, or wait for a CPU only? */
bool host_thread_is_ready(pid_t thread);

/* The remains of a process that was killed: the state of one of its threads, 'D' (in a call of the
 * kernel that cannot be interrupted) if any is, 'Z' only if all are dead; 0: it is gone. */
char host_process_remains(pid_t pid);

#endif
