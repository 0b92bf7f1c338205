/*
 * candidates.h - the candidates of a job: what its lines run, each at one size.
 */
#ifndef CCTEST_RUN_CANDIDATES_H
#define CCTEST_RUN_CANDIDATES_H

#include "run/job.h"

/* Gives each candidate, which has no datatype and no operator yet, those of the job: it becomes as
 * many as there are pairs. A barrier is a bor of bytes, whatever the others are. */
enum status job_cross(struct job *job);

/* Do two candidates do the same work? Then their times are compared. */
bool candidates_compete(const struct candidate *a, const struct candidate *b);

/* The candidates that compete with candidate `first` are those from it up to, without, this one. */
int job_contest_end(const struct job *job, int first);

/* Does it stand for its collective where all algorithms are named once? The candidates that compete
 * with others of the collective are the same algorithms, with another datatype or operator. */
bool candidate_is_first(const struct job *job, int candidate);

/* Does the job compare nothing but algorithms? */
bool job_is_one_contest(const struct job *job);

/* A copy of a job has candidates of its own, to be freed with free(). It refers to the counts and
 * the texts of the original, which must outlive it. */
enum status job_copy(const struct job *job, struct job *copy);

/* "allreduce ring", and for a job of several datatypes or operators "allreduce ring double max". */
const char *candidate_title(const struct job *job, const struct candidate *candidate,
                            char text[CANDIDATE_TITLE_MOST]);

/* Does any candidate ask for the places of ranks on a ring (order=auto)? */
bool job_orders_rings(const struct job *job);

/* How often the data of an iteration travels the same way: 2 where it goes there and back, of which
 * half the time is shown; else 1. */
uint64_t candidate_trips(const struct candidate *candidate);

/* In what follows `ranks` are those of a group. */

/* How many roots a line of the candidate has: with `-r all` each rank is the root in turn; else 1. */
int candidate_roots(const struct job *job, const struct candidate *candidate, int ranks);
/* Its iterations before the timed ones, and those that are checked: with CHECKED_ALL the timed ones.
 */
long candidate_warmups(const struct job *job, const struct candidate *candidate, int ranks);
long candidate_checks(const struct job *job, const struct candidate *candidate, int ranks);

/* Checks that the job can run with `ranks` ranks in all, in these groups: root, injections, counts,
 * and each candidate in each group. Under `-a all` it removes algorithms that refuse, and under
 * `-d all` or `-o all` what has no meaning over these ranks; otherwise a refusal is an error. Called
 * as soon as the number of ranks is known, and again when the nodes are known; then it replaces
 * `-a auto` by its picks: by the nodes of a group, if all groups have alike ones. STATUS_USAGE, with
 * the reason. */
enum status job_check_ranks(struct job *job, int ranks, const struct split *split);

/* Adds an algorithm of a collective, `text` as shown. STATUS_USAGE if that is too long. */
enum status job_add_choice(struct job *job, const struct collective *collective,
                           const struct choice *choice, const char *text);

/* Adds all algorithms of a collective but those of other libraries, as `-a all` does. */
enum status job_add_all(struct job *job, const struct collective *collective);

#endif
