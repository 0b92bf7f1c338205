/*
 * bootstrap.c - chooses where the ranks of this job come from.
 *
 * If a launcher starts N processes and each of them starts a job of its own, N jobs disturb each
 * other and look like one. So a launcher that cctest sees but does not support is an error, never
 * a reason to fork.
 */
#include "controlplane/bootstrap/internal.h"

#include "base/log.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/*
 * The life of one rank, the same under every bootstrap.
 */
enum status rank_main_run(const struct bootstrap_options *options,
                          const struct membership *membership, rank_main *main, void *argument)
{
    struct log log;
    log_init(&log, membership->rank, options->verbosity);
    log_attach(&log);
    enum status status = main(membership, argument);
    log_attach(NULL);
    return status;
}

/*
 * The choice of the bootstrap.
 */
#define SERVER_SECONDS 10.0 /* for the PMIx server to answer, where --timeout is not given */

/* --rendezvous is there without all that it needs. */
static enum status rendezvous_refuse(const struct bootstrap_options *options)
{
    char variables[200];
    bool told =
        options->rank < 0 && launcher_incomplete(options->world, variables, sizeof variables);
    return fail_option(
        STATUS_USAGE, "rendezvous",
        "--rendezvous needs --rank and --world: the rank of this process, and the number "
        "of ranks%s%s",
        told ? "; " : "", told ? variables : "");
}

static enum status options_check(const struct bootstrap_options *options,
                                 const struct launcher *launcher)
{
    bool sized = launcher && launcher->size;
    bool complete = options->rank >= 0 && options->world >= 0;
    if (options->np > 0 && options->rendezvous)
        return fail_option(STATUS_USAGE, "np rendezvous",
                           "--np starts ranks here, --rendezvous joins ranks that were "
                           "started elsewhere: give one of them");
    if (!options->rendezvous && (options->rank >= 0 || options->world >= 0))
        return fail_option(STATUS_USAGE, "rank world",
                           "--rank and --world need --rendezvous HOST:PORT, the address of "
                           "rank 0");
    if (options->rendezvous && !complete &&
        (options->rank >= 0 || (sized && options->world >= 0) || !launcher))
        return rendezvous_refuse(options);
    if (options->rendezvous && complete && options->rank >= options->world)
        return fail_option(STATUS_USAGE, "rank",
                           "--rank %d is not a rank of a world of %d: they count from 0 to %d",
                           options->rank, options->world, options->world - 1);
    return STATUS_OK;
}

/* This process is one rank of several that were started elsewhere. */
static enum status rank_take(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                             enum bootstrap_kind kind, const char *name)
{
    bootstrap->kind = kind;
    bootstrap->name = name;
    if (bootstrap->launch.ranks > JOB_RANKS_MOST)
        return fail(STATUS_USAGE, "cctest cannot run a job of %d ranks: start at most %d",
                    bootstrap->launch.ranks, JOB_RANKS_MOST);
    if (options->ranks_as == RANKS_THREADS)
        return fail_option(STATUS_USAGE, "ranks-as",
                           "--ranks-as threads works only for ranks that are started here: "
                           "give --np too, or leave it out");
    return STATUS_OK;
}

#define WHY_NOT 220

/* Sets bootstrap->manager if this process is one of several ranks of a manager's job. Otherwise
 * `why_not` gives the reason. STATUS_OK then: the only rank, or no manager. */
static enum status choose_manager(const struct bootstrap_options *options,
                                  struct bootstrap *bootstrap, char why_not[WHY_NOT])
{
    const struct launcher *launcher = bootstrap->launch.launcher;
    bool pmi = launcher && launcher->pmi; /* even inside a job that offers PMIx */
    struct process_manager *manager;
    double seconds = options->timeout > 0 ? options->timeout : SERVER_SECONDS;
    if (options->rendezvous || (launcher && launcher->nested) || !(pmi || pmix_offered()))
        return STATUS_OK;
    TRY((pmi ? pmi_open : pmix_open)(seconds, &manager, why_not, WHY_NOT));
    if (manager->ranks == 1) {
        snprintf(why_not, WHY_NOT, "this process's PMIx job has one rank");
        manager->close(manager);
        return STATUS_OK;
    }
    bootstrap->manager = manager;
    bootstrap->launch.rank = manager->rank;
    bootstrap->launch.ranks = manager->ranks;
    snprintf(bootstrap->why, sizeof bootstrap->why,
             "%s: a %s server answers, and this is rank %d of %d", manager->name,
             pmi ? "PMI" : "PMIx", manager->rank, manager->ranks);
    return rank_take(options, bootstrap, BOOTSTRAP_MANAGER, manager->name);
}

/* The environment names a manager that cannot be used. */
static enum status manager_missed(const struct launch *launch, enum status status,
                                  const char *why_not)
{
    if (launch->launcher)
        return fail(status,
                    "%s started this as rank %d of %d, but %s; or give --rendezvous HOST:PORT, or "
                    "--np N to start ranks here",
                    launch->launcher->name, launch->rank, launch->ranks, why_not);
    const char *claim = !getenv("PMIX_RANK")        ? "PMIX_NAMESPACE says"
                        : !getenv("PMIX_NAMESPACE") ? "PMIX_RANK says"
                                                    : "PMIX_NAMESPACE and PMIX_RANK say";
    return fail(status,
                "%s that this is a rank of a job, but %s; if no launcher started it, unset that, "
                "or give --np N",
                claim, why_not);
}

static enum status choose_tcp(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                              const char *why_not_pmix)
{
    struct launch *launch = &bootstrap->launch;
    if (options->rank >= 0) {
        snprintf(bootstrap->why, sizeof bootstrap->why,
                 "tcp: --rendezvous, --rank and --world were given");
        launch->rank = options->rank;
        launch->ranks = options->world;
        return rank_take(options, bootstrap, BOOTSTRAP_TCP, "tcp");
    }
    const struct launcher *launcher = launch->launcher;
    if (!options->rendezvous && !launcher->meet)
        return fail(STATUS_USAGE,
                    "%s started this as rank %d of %d, but does not say where rank 0 "
                    "is: give --rendezvous HOST:PORT too, or --np N to start ranks here",
                    launcher->name, launch->rank, launch->ranks);
    snprintf(bootstrap->why, sizeof bootstrap->why, "tcp: %s%s started this as rank %d of %d%s%s",
             options->rendezvous ? "--rendezvous was given, and " : "", launcher->name,
             launch->rank, launch->ranks, *why_not_pmix ? "; not pmix: " : "", why_not_pmix);
    return rank_take(options, bootstrap, BOOTSTRAP_TCP, "tcp");
}

/* A job on each node may be what the user wants; or the user took --np for the launcher's. Only one
 * process of the launcher prints it. */
static void warn_of_many_jobs(const struct bootstrap_options *options, const struct launch *launch)
{
    if (launch->launcher && launch->rank == 0 && !launcher_of_one())
        say("%s started %d processes, and --np %d makes each of them a job of its own: leave out "
            "--np to run one job",
            launch->launcher->name, launch->ranks, options->np);
}

enum status bootstrap_choose(const struct bootstrap_options *options, struct bootstrap *bootstrap)
{
    *bootstrap = (struct bootstrap){.kind = BOOTSTRAP_LOCAL, .name = "local"};
    struct launch *launch = &bootstrap->launch;
    *launch = launcher_detect(options->world);
    const struct launcher *launcher = launch->launcher;
    TRY(options_check(options, launcher));
    if (options->np > 0) {
        snprintf(bootstrap->why, sizeof bootstrap->why, "local: --np %d", options->np);
        warn_of_many_jobs(options, launch);
        launch->rank = -1;
        return STATUS_OK;
    }
    char why_not[WHY_NOT] = "";
    enum status status = choose_manager(options, bootstrap, why_not);
    if (bootstrap->manager)
        return status;
    bool other = (launcher && launcher->meet) || launcher_of_one();
    bool final = status == STATUS_INTERRUPTED || status == STATUS_TIMEOUT;
    if (final || (status != STATUS_OK && !other))
        return manager_missed(launch, status, why_not);
    if (options->rendezvous || launcher)
        return choose_tcp(options, bootstrap, why_not);
    char variables[200];
    if (launcher_incomplete(-1, variables, sizeof variables))
        return fail(STATUS_USAGE,
                    "%s: this seems to be one of several ranks, but cctest cannot use their "
                    "launcher's variables; correct them, or give --rendezvous HOST:PORT with "
                    "--rank and --world, or --np N to start ranks here",
                    variables);
    snprintf(bootstrap->why, sizeof bootstrap->why, "local: %s",
             *why_not ? why_not : "no launcher was detected, and --rendezvous was not given");
    return STATUS_OK;
}

/* Numbers of steps that srun has made; those of batch scripts and shells are near 2^32. */
#define STEPS_MOST INT_MAX

void bootstrap_warn_of_nodes(const struct bootstrap_options *options,
                             const struct bootstrap *bootstrap)
{
    long nodes = number_parse(getenv("SLURM_JOB_NUM_NODES"));
    long step = number_parse(getenv("SLURM_STEP_ID"));
    if (bootstrap->kind == BOOTSTRAP_LOCAL && options->np == 0 && nodes > 1 &&
        (step < 0 || step > STEPS_MOST))
        say("this Slurm job has %ld nodes, and the ranks use this one alone: start them on all of "
            "them by srun, or give --np",
            nodes);
}

void bootstrap_close(struct bootstrap *bootstrap)
{
    if (bootstrap->manager)
        bootstrap->manager->close(bootstrap->manager);
    bootstrap->manager = NULL;
}

/* Every socket and every shared segment takes a descriptor, so the limit is raised as far as
 * allowed. The least that local ranks need is known here: better fail now than in the middle. */
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
    unsigned long ranks = kind == BOOTSTRAP_LOCAL ? (unsigned long)local_ranks(options) : 1;
    unsigned long need = 16 + 2 * ranks;
    if (limit.rlim_cur >= need)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "%lu rank%s at least %lu open files, but only %lu are allowed: raise the limit "
                "(ulimit -n)",
                ranks, ranks == 1 ? " needs" : "s need", need, (unsigned long)limit.rlim_cur);
}

enum status bootstrap_run(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                          rank_main *main, void *argument)
{
    if (sodium_init() < 0)
        return fail(STATUS_ERROR, "libsodium found no source of random numbers");
    TRY(descriptors_take(options, bootstrap->kind));
    struct process_manager *manager = bootstrap->manager;
    bootstrap->manager = NULL;
    switch (bootstrap->kind) {
    case BOOTSTRAP_TCP:
        return bootstrap_run_tcp(options, &bootstrap->launch, main, argument);
    case BOOTSTRAP_MANAGER:
        return bootstrap_run_managed(options, manager, main, argument);
    default:
        return bootstrap_run_local(options, main, argument);
    }
}
