/*
 * internal.h - for the files of controlplane/bootstrap/ alone.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_INTERNAL_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_INTERNAL_H

#include <stdbool.h>

#include "controlplane/bootstrap/bootstrap.h"

/* ---- This process is one rank of a process manager's job. ---- */

/* Runs the rank that `manager` names, and closes `manager`. */
enum status bootstrap_run_managed(const struct bootstrap_options *options,
                                  struct process_manager *manager, rank_main *main, void *argument);

/* The text that rank 0 broadcasts through the manager: its host, its addresses, and a nonce for
 * secret_mix(). False: the text is invalid. */
void meeting_encode(const struct membership *root, const unsigned char nonce[SECRET_BYTES],
                    char text[MANAGER_TEXT_MOST]);
bool meeting_decode(const char *text, struct membership *membership,
                    unsigned char nonce[SECRET_BYTES]);

/* ---- PMI-1, the process manager's protocol of MPICH's mpiexec. ---- */

/* Connects to the manager, which has `seconds` for each answer. Errors as for pmix_open(). */
enum status pmi_open(double seconds, struct process_manager **manager, char *why, size_t size);

/* ---- The key of a job, derived from the user's secret. ---- */

/* Derives membership->secret from `shared` and from the user's secret (CCTEST_SECRET,
 * CCTEST_SECRET_FILE), if one is set; then has_secret is true. STATUS_USAGE: it cannot be read. */
enum status secret_find(const char *shared, struct membership *membership);

/* Mixes a nonce of this job into membership->secret. */
void secret_mix(const unsigned char nonce[SECRET_BYTES], struct membership *membership);

/* ---- The parent of ranks that are processes: none survives it. ---- */

struct supervisor;

/* The caller blocks SIGINT and SIGTERM before. `survives`: a rank that is lost is no reason to end
 * the others, and rank 0's status is that of all. NULL: no descriptor is left. */
struct supervisor *supervisor_create(int ranks, bool survives);
/* As fork(); the kernel kills the child when its supervisor dies. */
int supervisor_fork(struct supervisor *supervisor, int rank);
/* In a child: frees its copy of the supervisor. */
void supervisor_leave(struct supervisor *supervisor);
/* Waits until all ranks have ended; returns the worst of their statuses. Where all of them are
 * stopped for `timeout` seconds, it kills them. */
enum status supervisor_wait(struct supervisor *supervisor, double timeout);
/* Kills the ranks that are left, and frees the supervisor. */
void supervisor_destroy(struct supervisor *supervisor);

/* ---- This process is one rank, which meets the others at a host and a port. ---- */

/* Runs the rank that `launch` names. Without options->rendezvous its launcher tells where rank 0
 * is. */
enum status bootstrap_run_tcp(const struct bootstrap_options *options, const struct launch *launch,
                              rank_main *main, void *argument);

/* Splits "host:port" or "[::1]:port"; false: `text` is neither. */
bool rendezvous_parse(const char *text, char *host, size_t size, int *port);

#endif
