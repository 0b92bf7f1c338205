/*
 * worker.c - the process that an agent forks for one stage: started, watched and ended.
 */
#include "controlplane/agents/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"

#define WARNED_SECONDS 1.5 /* from SIGTERM to SIGKILL: a rank reports within one */
#define KILLED_SECONDS 3.0 /* from SIGKILL until the process counts as stuck */
#define PIPE_SECONDS   0.3 /* a reaped worker's pipes are open longer only in its own children */
#define PIECES_MOST    32
#define RESULT_PIECE   ((size_t)64 << 10)

void worker_live(const struct worker *worker, const struct order *order,
                 const struct membership *membership, const struct agent_config *config)
{
    int none = open("/dev/null", O_RDWR);
    dup2(none, STDIN_FILENO);
    dup2(none, STDOUT_FILENO);
    dup2(worker->error, STDERR_FILENO);
    close(none);
    close(worker->error);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    pthread_sigmask(SIG_UNBLOCK, &children, NULL);
    struct log log;
    log_init(&log, membership->rank, 0);
    log_attach(&log);
    enum status status =
        config->work(membership, order->command, worker->result, config->work_argument);
    log_print_failure(&log);
    exit((int)status);
}

static void pipe_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool worker_fork(struct worker *worker, const struct order *order, double now)
{
    int result[2] = {-1, -1}, error[2] = {-1, -1};
    *worker = (struct worker){.state = WORKER_RUNS,
                              .number = order->number,
                              .job = order->job,
                              .result = -1,
                              .error = -1,
                              .began = now,
                              .until = now + order->seconds};
    pid_t parent = getpid(), pid = -1;
    fflush(NULL); /* or the child would write what is still in stdio's buffers */
    if (pipe2(result, O_CLOEXEC) == 0 && pipe2(error, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "cctest-worker");
        if (getppid() != parent) /* it died before prctl() took effect */
            _exit((int)STATUS_TIMEOUT);
    } else if (pid < 0) {
        worker->state = WORKER_ENDED;
        worker->end = (struct worker_end){.fate = WORKER_UNBORN, .code = errno};
    }
    int kept = pid == 0; /* the child writes, its agent reads */
    pipe_close(&result[!kept]);
    pipe_close(&error[!kept]);
    if (pid < 0) {
        pipe_close(&result[kept]);
        pipe_close(&error[kept]);
        return false;
    }
    worker->pid = pid;
    worker->result = result[kept];
    worker->error = error[kept];
    if (pid > 0) {
        fcntl(worker->result, F_SETFL, O_NONBLOCK);
        fcntl(worker->error, F_SETFL, O_NONBLOCK);
    }
    return pid == 0;
}

void worker_watch(const struct worker *worker, struct pollfd *set)
{
    bool open = worker->state != WORKER_NONE && worker->state != WORKER_ENDED;
    set[0] = (struct pollfd){.fd = open ? worker->result : -1, .events = POLLIN};
    set[1] = (struct pollfd){.fd = open ? worker->error : -1, .events = POLLIN};
}

/* Reads what is there. */
static void worker_read_result(struct worker *worker)
{
    struct bytes *written = &worker->written;
    while (worker->result >= 0) {
        bool room = written->size < WORKER_RESULT_MOST;
        bytes_reserve(written, RESULT_PIECE);
        ssize_t count =
            room ? read(worker->result, written->data + written->size, RESULT_PIECE) : 0;
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count > 0)
            written->size += (size_t)count;
        else
            pipe_close(&worker->result);
    }
}

/* Keeps the last bytes. */
static void worker_read_error(struct worker *worker)
{
    char piece[TAIL_MOST - 1];
    char *tail = worker->end.tail;
    ssize_t count;
    for (int i = 0; i < PIECES_MOST; i++) { /* the agent has more to do than this */
        if (worker->error < 0 || (count = read(worker->error, piece, sizeof piece)) == -1)
            break;
        if (count == 0) {
            pipe_close(&worker->error);
            return;
        }
        size_t have = strlen(tail), more = (size_t)count, keep = sizeof piece - more;
        keep = have < keep ? have : keep;
        memmove(tail, tail + have - keep, keep);
        for (size_t k = 0; k < more; k++)
            tail[keep + k] = piece[k] ? piece[k] : '?';
        tail[keep + more] = '\0';
    }
    if (worker->error >= 0 && errno != EAGAIN && errno != EINTR)
        pipe_close(&worker->error);
}

static void worker_reap(struct worker *worker, double now)
{
    int how;
    if (worker->pid == 0 || waitpid(worker->pid, &how, WNOHANG) != worker->pid)
        return;
    worker->pid = 0;
    worker->reaped = now;
    worker->end.seconds = now - worker->began;
    if (worker->state != WORKER_RUNS)
        worker->end.fate = WORKER_LATE;
    else if (WIFSIGNALED(how))
        worker->end.fate = WORKER_SIGNALED, worker->end.code = WTERMSIG(how);
    else
        worker->end.fate = WORKER_EXITED;
    if (WIFEXITED(how))
        worker->end.code = WEXITSTATUS(how);
}

/* Its time is over. */
static void worker_press(struct worker *worker, double now)
{
    if (worker->state == WORKER_RUNS && now >= worker->until) {
        worker->end.state = host_process_state(worker->pid);
        worker->state = WORKER_WARNED;
        kill(worker->pid, SIGTERM);
    } else if (worker->state == WORKER_WARNED && now >= worker->until + WARNED_SECONDS) {
        worker->state = WORKER_KILLED;
        kill(worker->pid, SIGKILL);
    } else if (worker->state == WORKER_KILLED &&
               now >= worker->until + WARNED_SECONDS + KILLED_SECONDS) {
        worker->end.fate = WORKER_STUCK;
        worker->end.state = host_process_remains(worker->pid);
        worker->end.seconds = now - worker->began;
        worker->state = WORKER_ENDED;
        worker->pid = 0;
    }
}

void worker_serve(struct worker *worker, double now)
{
    if (worker->state == WORKER_NONE || worker->state == WORKER_ENDED)
        return;
    worker_reap(worker, now); /* first: all that it wrote can be read after it */
    worker_read_result(worker);
    worker_read_error(worker);
    if (worker->pid)
        worker_press(worker, now);
    else if ((worker->result < 0 && worker->error < 0) || now > worker->reaped + PIPE_SECONDS)
        worker->state = WORKER_ENDED;
    if (worker->state == WORKER_ENDED) {
        pipe_close(&worker->result);
        pipe_close(&worker->error);
    }
}

double worker_due(const struct worker *worker)
{
    if (worker->state == WORKER_NONE || worker->state == WORKER_ENDED)
        return INFINITY;
    return worker->state == WORKER_RUNS && worker->pid ? worker->until : 0;
}

void worker_abandon(struct worker *worker)
{
    if (worker->pid) {
        kill(worker->pid, SIGKILL);
        for (int i = 0; i < 20 && waitpid(worker->pid, NULL, WNOHANG) == 0; i++)
            poll(NULL, 0, 10); /* one that hangs in the kernel is left */
    }
    pipe_close(&worker->result);
    pipe_close(&worker->error);
    bytes_free(&worker->written);
    *worker = (struct worker){.state = WORKER_NONE, .result = -1, .error = -1};
}
