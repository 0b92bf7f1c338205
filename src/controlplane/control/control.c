/*
 * control.c - the control plane as a rank's main thread sees it.
 *
 * Nothing here touches a socket: each call queues a frame for the helper thread and waits for the
 * answer, or for the end of the job.
 */
#include "controlplane/control/internal.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/signals.h"

#define WATCH_SECONDS 0.02 /* between two calls of the watch */

static void *helper_main(void *argument)
{
    struct control *control = argument;
    log_attach(control->log);
    if (control->membership.rank == 0)
        root_run(control);
    else
        relay_run(control);
    return NULL;
}

static void post_failure(struct control *control, const struct failure *failure)
{
    struct bytes bytes = {0};
    failure_encode(failure, &bytes);
    control_post(control, queued_frame_take(FRAME_FAILED, &bytes));
}

/* Runs the helper's loop in the main thread until rank 0 has reported the failure for all: the
 * other ranks would else wait for this one, and report that it did not join (test_limits.sh). */
static enum status helper_refused(struct control *control, int error)
{
    struct failure failure;
    control->helper_place = HELPER_NOWHERE; /* there is no thread to join */
    failure_set(&failure, STATUS_ERROR, "could not start the helper thread: %s; " HOST_START_ADVICE,
                strerror(error));
    post_failure(control, &failure);
    control->helper_place = HELPER_IN_MAIN;
    helper_main(control);
    if (control->membership.rank > 0 && log_current()->failure.status != STATUS_OK)
        say("%s", failure.text); /* rank 0 does not know it */
    return control->mailbox.status;
}

static enum status helper_start(struct control *control)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&control->mailbox.lock, NULL);
    pthread_cond_init(&control->mailbox.changed, &attributes);
    pthread_condattr_destroy(&attributes);

    control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Ranks that are threads leave the signals of their process to rank 0. */
    if (control->membership.own_process || control->membership.rank == 0)
        control->signals = signals_capture(control->membership.supervisor);
    if (control->wake < 0)
        return fail(STATUS_ERROR, "could not create an eventfd: %s", strerror(errno));
    control->helper_place = HELPER_IN_THREAD;
    int error = pthread_create(&control->thread, NULL, helper_main, control);
    return error ? helper_refused(control, error) : STATUS_OK;
}

/* A short deadline must not pass between two signs of life of a healthy rank. */
static void control_set_pace(struct control *control)
{
    double timeout = control->config.timeout;
    control->look = fmin(0.1, timeout / 10);
    control->heartbeat = fmin(0.5, timeout / 5);
    control->gap = fmin(1.0, timeout / 4);
}

static struct control *control_create(const struct membership *membership,
                                      const struct control_config *config)
{
    struct control *control = new_array(1, sizeof *control);
    control->main_thread = gettid();
    control->has_main_clock = pthread_getcpuclockid(pthread_self(), &control->main_clock) == 0;
    control->membership = *membership;
    control->config = *config;
    if (control->config.fan_out <= 0)
        control->config.fan_out = CONTROL_FAN_OUT;
    control_set_pace(control);
    control->options = new_text(config->options ? config->options : "");
    control->members = new_array((size_t)membership->ranks, sizeof *control->members);
    control->lost = new_array((size_t)membership->ranks, sizeof *control->lost);
    control->log = log_current();
    control->wake = control->signals = control->helper.lost = -1;
    control->helper.listeners = membership->listeners;
    control->mailbox.outbox_end = &control->mailbox.outbox;
    control->mailbox.awaited = -1;
    control->helper.last_clock = clock_seconds();
    atomic_store(&control->progress.operation, -1);
    atomic_store(&control->progress.peer, -1);
    atomic_store(&control->progress.phase, PHASE_JOIN);
    return control;
}

/* Rank 0 itself failed without a verdict. */
static void control_blame_self(struct control *control)
{
    control->errors = new_array(1, sizeof *control->errors);
    control->errors[0] = job_error_own();
    control->error_count = 1;
    atomic_store(&control->state, JOB_REFUSED);
}

enum status control_join(const struct membership *membership, const struct control_config *config,
                         struct control **out)
{
    *out = NULL;
    /* A rank whose interface is missing joins only to report it. Rank 0 may fail for the same
     * reason and not be there, so the deadline is short. */
    enum status fit = interface_check(membership->interface);
    struct control *control = control_create(membership, config);
    if (fit != STATUS_OK)
        control->config.timeout = fmin(config->timeout, UNFIT_SECONDS);
    enum status status = control_prepare(control);
    if (status == STATUS_OK)
        status = helper_start(control);
    if (status == STATUS_OK) {
        pthread_mutex_lock(&control->mailbox.lock);
        while (!job_begun(control) && !job_ended(control))
            pthread_cond_wait(&control->mailbox.changed, &control->mailbox.lock);
        if (!job_begun(control))
            status = control_notice_end(control);
        pthread_mutex_unlock(&control->mailbox.lock);
    }
    if (status == STATUS_OK && fit != STATUS_OK) {
        status = control_fail(control, fit);
        control_close(control);
        return status;
    }
    status = fit != STATUS_OK ? fit : status;
    if (status == STATUS_OK) {
        *out = control;
        return STATUS_OK;
    }
    log_print_failure(log_current()); /* rank 0 stays for a while, for ranks that join later */
    if (membership->rank > 0) {
        control_close(control);
        return status;
    }
    if (!control->errors)
        control_blame_self(control);
    *out = control;
    return status;
}

int control_rank(const struct control *control)
{
    return control->membership.rank;
}

int control_ranks(const struct control *control)
{
    return control->membership.ranks;
}

const struct member *control_members(const struct control *control)
{
    return control->members;
}

bool control_ended(const struct control *control)
{
    return atomic_load_explicit(&control->state, memory_order_relaxed) >= JOB_REFUSED;
}

bool control_is_late(const struct control *control)
{
    return atomic_load_explicit(&control->state, memory_order_relaxed) == JOB_LATE;
}

bool control_lost(const struct control *control, int peer)
{
    return atomic_load_explicit(&control->lost[peer], memory_order_relaxed);
}

struct progress *control_progress(struct control *control)
{
    return &control->progress;
}

void control_enter(struct control *control, enum phase phase)
{
    atomic_store_explicit(&control->progress.phase, phase, memory_order_relaxed);
    eventfd_write(control->wake, 1);
}

uint64_t control_rejected(const struct control *control)
{
    return atomic_load(&control->rejected);
}

int control_errors(const struct control *control, const struct job_error **errors)
{
    /* The acquiring load makes what the helper wrote before the end visible here. */
    bool ended = job_ended(control);
    *errors = ended ? control->errors : NULL;
    return ended ? control->error_count : 0;
}

void control_name_algorithm(struct control *control, int index, const char *text)
{
    pthread_mutex_lock(&control->mailbox.lock);
    while (control->mailbox.algorithm_count <= index)
        LIST_ADD(control->mailbox.algorithms, control->mailbox.algorithm_count);
    if (index >= 0 && index < control->mailbox.algorithm_count) {
        free(control->mailbox.algorithms[index]);
        control->mailbox.algorithms[index] = new_text(text);
    }
    pthread_mutex_unlock(&control->mailbox.lock);
}

/* Entering and leaving a call of the control plane is progress. */
static void progress_count(struct control *control)
{
    atomic_fetch_add_explicit(&control->progress.progress, 1, memory_order_relaxed);
}

static struct timespec time_after(double seconds)
{
    uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);
    return (struct timespec){.tv_sec = (time_t)(end / 1000000000u),
                             .tv_nsec = (long)(end % 1000000000u)};
}

/* Waits for the end of the job, at most `seconds` (0: without a limit); false: it has not ended. */
static bool await_verdict(struct control *control, double seconds, enum status *status)
{
    struct timespec until = time_after(seconds);
    int error = 0;
    pthread_mutex_lock(&control->mailbox.lock);
    while (!job_ended(control) && error != ETIMEDOUT)
        error = seconds > 0 ? pthread_cond_timedwait(&control->mailbox.changed,
                                                     &control->mailbox.lock, &until)
                            : pthread_cond_wait(&control->mailbox.changed, &control->mailbox.lock);
    bool ended = job_ended(control);
    if (ended)
        *status = control_notice_end(control);
    pthread_mutex_unlock(&control->mailbox.lock);
    return ended;
}

enum status control_fail(struct control *control, enum status status)
{
    enum status verdict = status;
    if (control_ended(control)) {
        await_verdict(control, 0, &verdict);
        return verdict;
    }
    struct log *log = log_current();
    struct failure failure;
    if (!log_failure(log, &failure))
        failure_set(&failure, status, "failed without a reason");
    post_failure(control, &failure);
    if (await_verdict(control, VERDICT_SECONDS, &verdict))
        return verdict;
    log_print_failure(log);
    control_conclude(control, status);
    await_verdict(control, 0, &verdict);
    return verdict;
}

enum status control_finish(struct control *control, enum status status)
{
    struct bytes bytes = {0};
    notice_encode(&(struct notice){.status = status}, &bytes);
    progress_count(control);
    control_post(control, queued_frame_take(FRAME_FINISHED, &bytes));
    await_verdict(control, 0, &status);
    return status;
}

void control_send_postmortem(struct control *control, struct bytes *share)
{
    if (share->size <= POSTMORTEM_MOST && control_rank(control) > 0)
        control_post(control, queued_frame_take(FRAME_POSTMORTEM, share));
    bytes_free(share);
}

/* Is there a rank whose postmortem is still to come? */
static bool postmortems_lack(const struct control *control, const bool *from)
{
    const struct blobs *blobs = &control->mailbox.postmortems;
    for (int r = 1; r < control_ranks(control); r++)
        if (from[r] && !control_lost(control, r) && !(blobs->data && blobs->data[r]))
            return true;
    return false;
}

void control_gather_postmortems(struct control *control, const bool *from, double seconds,
                                struct blobs *blobs)
{
    struct timespec until = time_after(seconds);
    int error = 0;
    pthread_mutex_lock(&control->mailbox.lock);
    while (postmortems_lack(control, from) && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&control->mailbox.changed, &control->mailbox.lock, &until);
    *blobs = control->mailbox.postmortems;
    control->mailbox.postmortems = (struct blobs){0};
    pthread_mutex_unlock(&control->mailbox.lock);
}

void control_watch(struct control *control, enum status (*watch)(void *argument), void *argument)
{
    control->watch = watch;
    control->watched = argument;
}

/* Waits for a while, or for a change. Called with the lock held. */
static enum status await_change(struct control *control)
{
    struct timespec until = time_after(WATCH_SECONDS);
    if (!control->watch) {
        pthread_cond_wait(&control->mailbox.changed, &control->mailbox.lock);
        return STATUS_OK;
    }
    if (pthread_cond_timedwait(&control->mailbox.changed, &control->mailbox.lock, &until) == 0)
        return STATUS_OK;
    pthread_mutex_unlock(&control->mailbox.lock);
    enum status status = control->watch(control->watched);
    pthread_mutex_lock(&control->mailbox.lock);
    return status;
}

static enum status await_answer(struct control *control, struct queued_frame **result)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&control->mailbox.lock);
    while (status == STATUS_OK && !control->mailbox.answer && !job_ended(control))
        status = await_change(control);
    if (job_ended(control)) {
        status = control_notice_end(control);
        /* A job that has ended well exchanges nothing any more. */
        status = status == STATUS_OK ? STATUS_ERROR : status;
    } else if (status == STATUS_OK) {
        *result = control->mailbox.answer;
        control->mailbox.answer = NULL;
    }
    pthread_mutex_unlock(&control->mailbox.lock);
    return status;
}

/* A frame goes out, the result of exchange `number` comes back. Takes the frame. */
static enum status exchange(struct control *control, struct queued_frame *queued, uint32_t number,
                            struct queued_frame **result)
{
    progress_count(control);
    pthread_mutex_lock(&control->mailbox.lock);
    control->mailbox.awaited = number;
    pthread_mutex_unlock(&control->mailbox.lock);
    control_post(control, queued);
    enum status status = await_answer(control, result);
    progress_count(control);
    return status;
}

/* This rank's share goes out, the result comes back. */
static enum status share_exchange(struct control *control, enum exchange kind,
                                  const struct bytes *own, struct queued_frame **result)
{
    if (own->size > FRAME_MOST / 2)
        return fail(STATUS_ERROR, "%zu bytes are more than the control plane carries at once (%zu)",
                    own->size, FRAME_MOST / 2);
    struct bytes bytes = {0};
    const struct share share = {kind, control->exchanges++, own->data, own->size};
    share_encode(&share, &bytes);
    return exchange(control, queued_frame_take(FRAME_SHARE, &bytes), share.number, result);
}

enum status control_exchange(struct control *control, enum exchange kind, struct bytes *share,
                             const char *what, struct blobs *blobs)
{
    struct queued_frame *result = NULL;
    *blobs = (struct blobs){0};
    enum status status = share_exchange(control, kind, share, &result);
    bytes_free(share);
    bool is_wanted = kind != EXCHANGE_GATHER || control_rank(control) == 0;
    int count = kind == EXCHANGE_PEERS ? 1 : control_ranks(control);
    if (status == STATUS_OK && is_wanted &&
        !blobs_decode(result->data, result->size, count, blobs)) {
        blobs_free(blobs);
        status = fail(STATUS_ERROR,
                      "rank 0 sent invalid %s data of the ranks: check that all ranks run the same "
                      "version of cctest",
                      what);
    }
    free(result);
    return status;
}

enum status control_maximum(struct control *control, uint64_t *words, size_t count,
                            const char *what)
{
    if (count > CONTROL_WORDS_MOST)
        return fail(STATUS_ERROR, "%zu %s words are more than one exchange may have (%zu)", count,
                    what, CONTROL_WORDS_MOST);
    struct queued_frame *result = NULL;
    struct bytes bytes = {0};
    uint32_t number = control->exchanges++;
    maxima_encode(number, control_rank(control), words, count, &bytes);
    enum status status =
        exchange(control, queued_frame_take(FRAME_MAXIMA, &bytes), number, &result);
    if (status == STATUS_OK && control_rank(control) == 0) {
        struct reader reader = {.at = result->data, .left = result->size};
        for (size_t i = 0; i < count; i++)
            words[i] = read_u64(&reader);
    }
    free(result);
    return status;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    if (control->helper_place == HELPER_IN_THREAD) {
        pthread_mutex_lock(&control->mailbox.lock);
        bool leaves = job_begun(control) && !job_ended(control);
        pthread_mutex_unlock(&control->mailbox.lock);
        if (leaves) {
            fail(STATUS_ERROR, "left the job before its end");
            control_fail(control, STATUS_ERROR);
        }
        pthread_mutex_lock(&control->mailbox.lock);
        control->mailbox.main = MAIN_CLOSING;
        pthread_mutex_unlock(&control->mailbox.lock);
        eventfd_write(control->wake, 1);
        pthread_join(control->thread, NULL);
    }
    listeners_close(&control->helper.listeners);
    const int sockets[] = {control->wake, control->signals};
    for (size_t i = 0; i < sizeof sockets / sizeof sockets[0]; i++)
        if (sockets[i] >= 0)
            close(sockets[i]);
    queued_frames_free(control->mailbox.outbox);
    free(control->mailbox.answer);
    blobs_free(&control->mailbox.postmortems);
    for (int i = 0; i < control->mailbox.algorithm_count; i++)
        free(control->mailbox.algorithms[i]);
    free(control->mailbox.algorithms);
    free(control->members);
    free(control->lost);
    free(control->errors);
    free(control->options);
    sodium_memzero(&control->membership, sizeof control->membership);
    free(control);
}
