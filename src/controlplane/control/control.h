/*
 * control.h - the control plane: how the ranks of a job communicate outside of what is measured.
 *
 * The ranks are a tree of authenticated connections with rank 0 at its root, so that no rank is
 * connected to all. Each rank has a helper thread for its connections, so it reports, and forwards
 * the reports of its children, also while its main thread is stuck. Up the tree go shares of
 * exchanges, results, failures and heartbeats, from which rank 0 knows which rank is slow, silent
 * or dead. Down it go the results of exchanges and the end of the job. A rank whose parent is dead
 * or silent connects to rank 0 itself.
 *
 * The end. The first failure ends the job: rank 0 waits a moment for further reports, prints the
 * cause on stderr, and sends all ranks the verdict: one exit status for all survivors. Each call
 * below returns the verdict's status as soon as there is one. No call waits for ever: the deadline
 * limits the time in which no rank progresses, a rank that cannot reach rank 0 any more ends by
 * itself, and the helper thread ends a process whose main thread does not react to the end (it may
 * be writing to a pipe that no process reads). A main thread that ticks reacts: it may be freeing
 * much.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_CONTROL_H
#define CCTEST_CONTROLPLANE_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "controlplane/control/blobs.h"
#include "controlplane/control/membership.h"
#include "base/rank_state.h"

struct control;

/* Joins the job: rank 0 listens, the others connect, both prove the secret, and all agree on
 * version, options and world size. Blocks until all ranks have joined, or for the deadline after
 * the last that did. Errors: said in one sentence by the rank that finds it (port taken, host
 * unknown, no process there, a wrong secret, another version, options that differ, rank taken
 * twice, ranks missing: which). At rank 0 *control is there even so, for control_errors(),
 * control_rejected() and control_close() only; else it is NULL (as when memory ran out). */
enum status control_join(const struct membership *membership, const struct control_config *config,
                         struct control **control);

int control_rank(const struct control *control);
int control_ranks(const struct control *control);
const struct member *control_members(const struct control *control); /* control_ranks() of them */

/* Sends `share`, this rank's <what> data, to all ranks, or (EXCHANGE_GATHER) to rank 0. `blobs` is
 * empty at the others then. EXCHANGE_PEERS: see exchange_with_peers(). Frees the bytes of `share`.
 * All ranks call it in the same order. It blocks until all ranks have called it, whatever the kind,
 * and returns the verdict's status when the job ends meanwhile. */
enum status control_exchange(struct control *control, enum exchange kind, struct bytes *share,
                             const char *what, struct blobs *blobs);

/* At rank 0 each word becomes the greatest that any rank has in its place; the others keep theirs.
 * All ranks have equally many words: at most CONTROL_WORDS_MOST (exchange_maximum() has no limit). The
 * ranks between a rank and rank 0 reduce them on the way, so no rank holds the words of many.
 * Called and ended as control_exchange(). */
#define CONTROL_WORDS_MOST ((size_t)32 << 10)
enum status control_maximum(struct control *control, uint64_t *words, size_t count,
                            const char *what);

/* From now on an exchange that waits calls watch(argument) every 20 ms. If that fails, with fail(),
 * the exchange returns its status at once. NULL: no longer. */
void control_watch(struct control *control, enum status (*watch)(void *argument), void *argument);

/* Has the job ended? Cheap: one relaxed load. */
bool control_ended(const struct control *control);

/* Has no rank of the job progressed for the timeout? A rank that waits outside of a schedule then
 * fails, and names the rank that it waits for: rank 0 gives the verdict in a moment. */
bool control_is_late(const struct control *control);

/* Is `peer` known to be dead? Cheap: one relaxed load. Rank 0 knows it of every rank, another one
 * of its children and of what its supervisor reports. All others learn it from the verdict, which
 * follows within a moment and ends the job. */
bool control_lost(const struct control *control, int peer);
struct progress *control_progress(struct control *control);
/* Enters a phase, and reports it to rank 0 at once: the rank may die in it. */
void control_enter(struct control *control, enum phase phase);

/* Names an algorithm choice for reports: "alltoall pairwise". Called before the run by each
 * rank. */
void control_name_algorithm(struct control *control, int index, const char *text);

/* This rank failed (its log holds the sentence): tells rank 0 and waits for the verdict. Returns
 * the job's status. */
enum status control_fail(struct control *control, enum status status);

/* This rank is finished, with its own status (STATUS_OK, WRONG_DATA, SLOW). Waits until all are, or
 * the job ends otherwise. Returns the job's status, the same on every rank: the gravest. One of
 * these three says that all ranks have finished. */
enum status control_finish(struct control *control, enum status status);

/* After the job has failed: sends rank 0 what this rank can add, at most POSTMORTEM_MOST bytes.
 * Best effort. Frees the bytes of `share`. */
void control_send_postmortem(struct control *control, struct bytes *share);

/* The same at rank 0: waits for what each rank r with from[r] adds, for `seconds` at most. A rank
 * that sends nothing in this time has size 0. The bytes are to be checked. */
void control_gather_postmortems(struct control *control, const bool *from, double seconds,
                                struct blobs *blobs);

/* What went wrong, for JSON, at rank 0, after control_finish() or control_fail(), or after
 * control_join() has failed. Owned by control. */
int control_errors(const struct control *control, const struct job_error **errors);

/* Connections that were none of the job's, and that this rank's control plane rejected so far.
 * Ranks other than 0 listen only while ranks join. */
uint64_t control_rejected(const struct control *control);

/* Ends the helper thread and closes the connection. NULL is allowed. */
void control_close(struct control *control);

#endif
