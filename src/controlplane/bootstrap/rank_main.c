/*
 * rank_main.c - the life of one rank, the same under every bootstrap.
 */
#include "controlplane/bootstrap/bootstrap.h"

#include "base/log.h"

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
