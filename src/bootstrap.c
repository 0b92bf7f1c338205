/*
 * bootstrap.c - which way the ranks of this job come into being.
 *
 * The worst answer is a wrong one: when a launcher starts N processes and each believes to be
 * alone, N jobs run side by side, disturb each other, and look like one. So a launcher that is
 * known but cannot be followed is an error, not a reason to fork.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "bootstrap_internal.h"
#include "log.h"

enum status bootstrap_choose(const struct job *job, enum bootstrap_kind *kind, char *why,
                             size_t size)
{
    int rank = -1, ranks = 0;
    const struct launcher *launcher = launcher_detect(&rank, &ranks);
    bool told = job->rank >= 0 && job->world >= 0;
    *kind = BOOTSTRAP_LOCAL;
    if (job->np > 0 && job->rendezvous)
        return fail(STATUS_USAGE, "--np starts ranks here and --rendezvous joins ranks that others "
                                  "started: give one of them");
    if (!job->rendezvous && (job->rank >= 0 || job->world >= 0))
        return fail(STATUS_USAGE, "--rank and --world need --rendezvous HOST:PORT, where rank 0 is "
                                  "to be found");
    if (job->rendezvous && !told && (job->rank >= 0 || job->world >= 0 || !launcher))
        return fail(STATUS_USAGE,
                    "--rendezvous needs --rank and --world: which rank this process is, "
                    "and of how many");
    if (job->rendezvous && told && job->rank >= job->world)
        return fail(STATUS_USAGE,
                    "--rank %d is not a rank of a world of %d: they count from 0 to %d", job->rank,
                    job->world, job->world - 1);
    if (job->np > 0) {
        snprintf(why, size, "local: --np %d", job->np);
        return STATUS_OK;
    }
    char doubt[200];
    if (!job->rendezvous && !launcher && launcher_incomplete(doubt, sizeof doubt))
        return fail(STATUS_USAGE,
                    "%s: complete the launcher's variables, or give --np N to start ranks here",
                    doubt);
    if (!job->rendezvous && !launcher) {
        snprintf(why, size, "local: no launcher was recognised and no --rendezvous given");
        return STATUS_OK;
    }
    if (job->ranks_as_threads)
        return fail(STATUS_USAGE,
                    "--ranks-as threads is for ranks that are started here: give --np "
                    "too, or leave it out");
    *kind = BOOTSTRAP_TCP;
    if (told)
        snprintf(why, size, "tcp: --rendezvous, --rank and --world were given");
    else if (job->rendezvous)
        snprintf(why, size, "tcp: --rendezvous was given, and %s started this as rank %d of %d",
                 launcher->name, rank, ranks);
    else if (launcher->meet)
        snprintf(why, size, "tcp: %s started this as rank %d of %d", launcher->name, rank, ranks);
    else
        return fail(STATUS_USAGE,
                    "%s started this as rank %d of %d, but does not say where rank 0 "
                    "is: give --rendezvous HOST:PORT too, or --np N to start ranks here",
                    launcher->name, rank, ranks);
    return STATUS_OK;
}

/* Every socket and every shared segment is a descriptor: take as many as we may have. Local ranks
 * know how many they will need at least, so too few of them end here and not somewhere in the
 * middle. */
static enum status descriptors_take(const struct job *job, enum bootstrap_kind kind)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return STATUS_OK;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    unsigned long ranks = kind == BOOTSTRAP_LOCAL ? (unsigned long)bootstrap_local_ranks(job) : 1;
    unsigned long need = 16 + 2 * ranks;
    if (limit.rlim_cur >= need)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "%lu ranks need at least %lu open files, but only %lu are allowed: raise the limit "
                "(ulimit -n)",
                ranks, need, (unsigned long)limit.rlim_cur);
}

enum status bootstrap_run(const struct job *job, enum bootstrap_kind kind, rank_main *main,
                          void *argument)
{
    enum status status = descriptors_take(job, kind);
    if (status != STATUS_OK)
        return status;
    return kind == BOOTSTRAP_TCP ? bootstrap_run_tcp(job, main, argument)
                                 : bootstrap_run_local(job, main, argument);
}
