/*
 * message_load.c - the load of links that the messages of an algorithm make.
 */
#include "cli/predict/internal.h"

static enum status schedule_load(const struct schedule *schedule, size_t element,
                                 struct link_load *load)
{
    const struct problem *problem = &schedule->problem;
    int rank = problem_member(problem, schedule->rank);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < schedule->count && status == STATUS_OK; i++) {
        const struct operation *operation = &schedule->operations[i];
        if (operation->kind == OPERATION_SEND)
            status = link_load_add(load, operation->step, rank, operation->peer,
                                   (double)operation->length * (double)element);
    }
    return status;
}

enum status message_load_add(const struct choice *choice, const struct problem *problem,
                             int channels, size_t element, struct link_load *load)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < problem->ranks && status == STATUS_OK; rank++) {
        struct schedule *schedule = NULL;
        status = schedule_build(choice, problem, rank, channels, false, &schedule);
        if (status == STATUS_OK)
            status = schedule_load(schedule, element, load);
        schedule_free(schedule);
    }
    return status;
}
