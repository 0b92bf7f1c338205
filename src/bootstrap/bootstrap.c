/*
 * bootstrap.c - which way the ranks of this job come into being.
 *
 * The worst answer is a wrong one: when a launcher starts N processes and each believes to be
 * alone, N jobs run side by side, disturb each other, and look like one. So a launcher that is
 * known but cannot be followed is an error, not a reason to fork.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/log.h"
#include "bootstrap/bootstrap_internal.h"

#define SERVER_SECONDS 10.0 /* for the PMIx server to answer where no deadline was given */

static enum status told_check(const struct bootstrap_options *options,
                              const struct launcher *launcher)
{
    bool told = options->rank >= 0 && options->world >= 0;
    if (options->np > 0 && options->rendezvous)
        return fail(STATUS_USAGE, "--np starts ranks here and --rendezvous joins ranks that others "
                                  "started: give one of them");
    if (!options->rendezvous && (options->rank >= 0 || options->world >= 0))
        return fail(STATUS_USAGE, "--rank and --world need --rendezvous HOST:PORT, where rank 0 is "
                                  "to be found");
    if (options->rendezvous && !told && (options->rank >= 0 || options->world >= 0 || !launcher))
        return fail(STATUS_USAGE,
                    "--rendezvous needs --rank and --world: which rank this process is, "
                    "and of how many");
    if (options->rendezvous && told && options->rank >= options->world)
        return fail(STATUS_USAGE,
                    "--rank %d is not a rank of a world of %d: they count from 0 to %d",
                    options->rank, options->world, options->world - 1);
    return STATUS_OK;
}

/* This process is one rank, of several that somebody else starts. */
static enum status rank_take(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                             enum bootstrap_kind kind, int rank, int ranks)
{
    bootstrap->kind = kind;
    if (kind == BOOTSTRAP_TCP)
        bootstrap->name = "tcp";
    bootstrap->rank = rank;
    bootstrap->ranks = ranks;
    if (ranks > JOB_RANKS_MOST)
        return fail(STATUS_USAGE, "a job of %d ranks is more than cctest runs: start %d at most",
                    ranks, JOB_RANKS_MOST);
    if (options->as_threads)
        return fail(STATUS_USAGE,
                    "--ranks-as threads is for ranks that are started here: give --np "
                    "too, or leave it out");
    return STATUS_OK;
}

#define WHY_NOT 220

/* Is this process one of several ranks of a manager's job? Then bootstrap->manager is there. If
 * not, `why_not` says so, and STATUS_OK that it is the only one. */
static enum status choose_manager(const struct bootstrap_options *options,
                                  struct bootstrap *bootstrap, char why_not[WHY_NOT])
{
    const struct launcher *launcher = bootstrap->launcher;
    bool pmi = launcher && launcher->pmi; /* it may run inside what offers PMIx */
    struct process_manager *manager;
    double patience = options->timeout > 0 ? options->timeout : SERVER_SECONDS;
    if (options->rendezvous || (launcher && launcher->nested) || !(pmi || pmix_offered()))
        return STATUS_OK;
    enum status status = (pmi ? pmi_open : pmix_open)(patience, &manager, why_not, WHY_NOT);
    if (status != STATUS_OK)
        return status;
    if (manager->ranks == 1) {
        snprintf(why_not, WHY_NOT, "the PMIx job that this belongs to has one rank");
        manager->close(manager);
        return STATUS_OK;
    }
    bootstrap->manager = manager;
    bootstrap->name = manager->name;
    snprintf(bootstrap->why, sizeof bootstrap->why,
             "%s: a %s server answers, and this is rank %d of %d", manager->name,
             pmi ? "PMI" : "PMIx", manager->rank, manager->ranks);
    return rank_take(options, bootstrap, BOOTSTRAP_MANAGER, manager->rank, manager->ranks);
}

/* A manager was promised and is not there. */
static enum status manager_missed(const struct launcher *launcher, int rank, int ranks,
                                  enum status status, const char *why_not)
{
    if (launcher)
        return fail(status,
                    "%s started this as rank %d of %d, but %s; or give --rendezvous HOST:PORT, or "
                    "--np N to start ranks here",
                    launcher->name, rank, ranks, why_not);
    const char *said = !getenv("PMIX_RANK")        ? "PMIX_NAMESPACE says"
                       : !getenv("PMIX_NAMESPACE") ? "PMIX_RANK says"
                                                   : "PMIX_NAMESPACE and PMIX_RANK say";
    return fail(status,
                "%s that this is a rank of a job, but %s; if no launcher started it, unset that, "
                "or give --np N",
                said, why_not);
}

static enum status choose_tcp(const struct bootstrap_options *options, int rank, int ranks,
                              struct bootstrap *bootstrap, const char *why_not_pmix)
{
    const struct launcher *launcher = bootstrap->launcher;
    if (options->rank >= 0) {
        snprintf(bootstrap->why, sizeof bootstrap->why,
                 "tcp: --rendezvous, --rank and --world were given");
        return rank_take(options, bootstrap, BOOTSTRAP_TCP, options->rank, options->world);
    }
    if (!options->rendezvous && !launcher->meet)
        return fail(STATUS_USAGE,
                    "%s started this as rank %d of %d, but does not say where rank 0 "
                    "is: give --rendezvous HOST:PORT too, or --np N to start ranks here",
                    launcher->name, rank, ranks);
    snprintf(bootstrap->why, sizeof bootstrap->why, "tcp: %s%s started this as rank %d of %d%s%s",
             options->rendezvous ? "--rendezvous was given, and " : "", launcher->name, rank, ranks,
             *why_not_pmix ? "; not pmix: " : "", why_not_pmix);
    return rank_take(options, bootstrap, BOOTSTRAP_TCP, rank, ranks);
}

/* That each process of a launcher starts ranks of its own may be meant, as one job on each node is;
 * or --np was taken for the launcher's. One of them says so. */
static void tell_split(const struct bootstrap_options *options, const struct launcher *launcher,
                       int rank, int ranks)
{
    if (launcher && rank == 0 && !launcher_of_one())
        say("%s started %d processes, and with --np %d each of them is a job of its own: leave out "
            "--np for one job of all",
            launcher->name, ranks, options->np);
}

enum status bootstrap_choose(const struct bootstrap_options *options, struct bootstrap *bootstrap)
{
    *bootstrap =
        (struct bootstrap){.kind = BOOTSTRAP_LOCAL, .name = "local", .rank = -1, .ranks = -1};
    int rank = -1, ranks = 0;
    const struct launcher *launcher = bootstrap->launcher = launcher_detect(&rank, &ranks);
    enum status status = told_check(options, launcher);
    if (status != STATUS_OK)
        return status;
    if (options->np > 0) {
        snprintf(bootstrap->why, sizeof bootstrap->why, "local: --np %d", options->np);
        tell_split(options, launcher, rank, ranks);
        return STATUS_OK;
    }
    char why_not[WHY_NOT] = "";
    status = choose_manager(options, bootstrap, why_not);
    if (bootstrap->manager)
        return status;
    bool other = (launcher && launcher->meet) || launcher_of_one();
    bool final = status == STATUS_INTERRUPTED || status == STATUS_TIMEOUT;
    if (final || (status != STATUS_OK && !other))
        return manager_missed(launcher, rank, ranks, status, why_not);
    if (options->rendezvous || launcher)
        return choose_tcp(options, rank, ranks, bootstrap, why_not);
    char doubt[200];
    if (launcher_incomplete(doubt, sizeof doubt))
        return fail(STATUS_USAGE,
                    "%s: this seems to be one of several ranks, but cctest cannot follow their "
                    "launcher by that: complete its variables, or give --rendezvous HOST:PORT with "
                    "--rank and --world, or --np N to start ranks here",
                    doubt);
    snprintf(bootstrap->why, sizeof bootstrap->why, "local: %s",
             *why_not ? why_not : "no launcher was recognised and no --rendezvous given");
    return STATUS_OK;
}

void bootstrap_close(struct bootstrap *bootstrap)
{
    if (bootstrap->manager)
        bootstrap->manager->close(bootstrap->manager);
    bootstrap->manager = NULL;
}

/* Every socket and every shared segment is a descriptor: take as many as we may have. Local ranks
 * know how many they will need at least, so too few of them end here and not somewhere in the
 * middle. */
static enum status descriptors_take(const struct bootstrap_options *options,
                                    enum bootstrap_kind kind)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return STATUS_OK;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    unsigned long ranks =
        kind == BOOTSTRAP_LOCAL ? (unsigned long)bootstrap_local_ranks(options) : 1;
    unsigned long need = 16 + 2 * ranks;
    if (limit.rlim_cur >= need)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "%lu rank%s at least %lu open files, but only %lu are allowed: raise the limit "
                "(ulimit -n)",
                ranks, ranks == 1 ? " needs" : "s need", need, (unsigned long)limit.rlim_cur);
}

enum status rank_main_run(const struct bootstrap_options *options,
                          const struct membership *membership, rank_main *main, void *argument)
{
    struct log log;
    log_init(&log, membership->rank, options->verbosity);
    log_attach(&log);
    if (membership->rank == 0 && !membership->has_secret)
        say("no CCTEST_SECRET is set: the job is protected against accidents, not against "
            "others who mean to join it");
    enum status status = main(membership, argument);
    log_attach(NULL);
    return status;
}

enum status bootstrap_run(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                          rank_main *main, void *argument)
{
    if (sodium_init() < 0)
        return fail(STATUS_ERROR, "libsodium found no source of random numbers");
    enum status status = descriptors_take(options, bootstrap->kind);
    if (status != STATUS_OK)
        return status;
    struct process_manager *manager = bootstrap->manager;
    bootstrap->manager = NULL;
    switch (bootstrap->kind) {
    case BOOTSTRAP_TCP:
        return bootstrap_run_tcp(options, bootstrap, main, argument);
    case BOOTSTRAP_MANAGER:
        return bootstrap_run_manager(options, manager, main, argument);
    default:
        return bootstrap_run_local(options, main, argument);
    }
}
