/*
 * queue.c - text for readers that may pause, or go: terminals, pipes, FIFOs; and whole files on
 * file systems that may take seconds to replace one.
 *
 * A thread takes the text from the queue and writes it. While the reader keeps up, a call returns
 * when its text is written. So lines of the table keep their order with sentences on standard
 * error, and no write competes with what is measured next. When the reader pauses, calls return at
 * once.
 */
#include "base/io/io.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/signals.h"

#define PIECE           ((size_t)16 << 10) /* bytes of one write */
#define KEEP_UP_SECONDS 0.1                /* a reader that takes longer pauses */
#define LOOK_SECONDS    0.1                /* between two looks for signals */

struct queued_text {
    struct queued_text *next;
    size_t length, written;
    char bytes[];
};

struct output_queue {
    int fd;
    const char *path;     /* of a file that each text replaces; NULL: texts go behind each other */
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct queued_text *first, **end;
    size_t bytes;    /* that wait */
    int error;       /* errno of a failed write, after which nothing more is written; 0: none */
    bool pauses;     /* the reader does */
    bool over;       /* no text follows, */
    bool abandoned;  /* and nobody waits for the thread, which frees the queue at its end */
    bool started;    /* there is a thread */
    cpu_set_t cores; /* for it: rank 0's own core is for what is measured */
    bool has_cores;
    pthread_t thread;
};

struct output_queue *output_queue_create(void)
{
    struct output_queue *queue = new_array(1, sizeof *queue);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    queue->fd = -1;
    queue->end = &queue->first;
    queue->has_cores = sched_getaffinity(0, sizeof queue->cores, &queue->cores) == 0;
    return queue;
}

void output_queue_open(struct output_queue *queue, int fd)
{
    queue->fd = fd;
}

void output_queue_open_file(struct output_queue *queue, const char *path)
{
    queue->path = path;
}

int output_queue_fd(const struct output_queue *queue)
{
    return queue->fd;
}

/* Writes one piece of a text. Returns an errno, or 0. */
static int piece_write(int fd, struct queued_text *text)
{
    size_t left = text->length - text->written;
    struct pollfd set = {.fd = fd, .events = POLLOUT};
    ssize_t step = write(fd, text->bytes + text->written, left < PIECE ? left : PIECE);
    if (step < 0 && errno == EAGAIN) /* another program that has it open does not block */
        poll(&set, 1, -1);
    else if (step < 0 && errno != EINTR)
        return errno;
    text->written += step > 0 ? (size_t)step : 0;
    return 0;
}

/* Writes a piece of the text, or replaces the file by all of it. Returns an errno, or 0. */
static int text_step(const char *path, int fd, struct queued_text *text)
{
    if (!path)
        return piece_write(fd, text);
    text->written = text->length;
    return output_replace(text->bytes, text->length, path) ? 0 : errno;
}

/* Called with the lock held. */
static void texts_drop(struct output_queue *queue)
{
    while (queue->first) {
        struct queued_text *next = queue->first->next;
        free(queue->first);
        queue->first = next;
    }
    queue->end = &queue->first;
    queue->bytes = 0;
}

/* Called with the lock held, which it gives up while it writes. */
static void first_write(struct output_queue *queue)
{
    struct queued_text *text = queue->first;
    size_t before = text->written;
    int fd = queue->fd;
    pthread_mutex_unlock(&queue->lock);
    int error = text_step(queue->path, fd, text);
    pthread_mutex_lock(&queue->lock);
    queue->bytes -= text->written - before;
    if (text->written == text->length) {
        queue->first = text->next;
        queue->end = queue->first ? queue->end : &queue->first;
        free(text);
    }
    if (error && !queue->error)
        queue->error = error;
    if (queue->error)
        texts_drop(queue);
}

int output_queue_close(struct output_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    int fd = queue->bytes > 0 ? -1 : queue->fd; /* the thread may be writing */
    queue->fd = queue->bytes > 0 ? queue->fd : -1;
    pthread_mutex_unlock(&queue->lock);
    return fd <= STDERR_FILENO || close(fd) == 0 ? 0 : errno;
}

static void queue_free(struct output_queue *queue)
{
    output_queue_close(queue);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static void *queue_main(void *argument)
{
    struct output_queue *queue = argument;
    pthread_mutex_lock(&queue->lock);
    while (queue->first || !queue->over) {
        if (queue->first)
            first_write(queue);
        else
            pthread_cond_wait(&queue->changed, &queue->lock);
        pthread_cond_broadcast(&queue->changed);
    }
    bool abandoned = queue->abandoned;
    pthread_mutex_unlock(&queue->lock);
    if (abandoned)
        queue_free(queue);
    return NULL;
}

/* Called with the lock held. False: no thread can be started. */
static bool queue_start(struct output_queue *queue)
{
    pthread_attr_t attributes;
    if (queue->started || pthread_attr_init(&attributes) != 0)
        return queue->started;
    if (queue->has_cores)
        pthread_attr_setaffinity_np(&attributes, sizeof queue->cores, &queue->cores);
    queue->started = pthread_create(&queue->thread, &attributes, queue_main, queue) == 0;
    pthread_attr_destroy(&attributes);
    return queue->started;
}

/* Called with the lock held: waits until something has changed, or the clock says `until`. */
static void queue_wait(struct output_queue *queue, double until)
{
    struct timespec end = {.tv_sec = (time_t)until};
    end.tv_nsec = (long)((until - (double)end.tv_sec) * 1e9);
    pthread_cond_timedwait(&queue->changed, &queue->lock, &end);
}

/* Called with the lock held: drops the texts behind the one that the thread writes. */
static void waiting_drop(struct output_queue *queue)
{
    while (queue->first && queue->first->next) {
        struct queued_text *waiting = queue->first->next;
        queue->first->next = waiting->next;
        queue->bytes -= waiting->length;
        free(waiting);
    }
    queue->end = queue->first ? &queue->first->next : &queue->first;
}

/* Called with the lock held. */
static void queue_add(struct output_queue *queue, struct queued_text *text)
{
    if (queue->path)
        waiting_drop(queue);
    double until = clock_seconds() + KEEP_UP_SECONDS;
    queue->pauses = queue->pauses && queue->bytes > 0;
    *queue->end = text;
    queue->end = &text->next;
    queue->bytes += text->length;
    pthread_cond_broadcast(&queue->changed);
    while (queue->bytes > 0 && !queue->pauses) {
        queue_wait(queue, until);
        queue->pauses = clock_seconds() >= until;
    }
}

/* Called with the lock held, which it gives up while it writes: the caller writes, since there is
 * no thread. */
static void queue_write(struct output_queue *queue, struct queued_text *text)
{
    while (text->written < text->length && !queue->error) {
        int fd = queue->fd;
        pthread_mutex_unlock(&queue->lock);
        int error = text_step(queue->path, fd, text);
        pthread_mutex_lock(&queue->lock);
        queue->error = queue->error ? queue->error : error;
    }
    free(text);
}

bool output_queue_put(struct output_queue *queue, const char *bytes, size_t length)
{
    struct queued_text *text = malloc(sizeof *text + length);
    if (!text) {
        output_queue_fail(queue, ENOMEM);
        errno = ENOMEM;
        return false;
    }
    *text = (struct queued_text){.length = length};
    memcpy(text->bytes, bytes, length);
    pthread_mutex_lock(&queue->lock);
    if (length > 0 && !queue->error && queue_start(queue))
        queue_add(queue, text);
    else
        queue_write(queue, text);
    int error = queue->error;
    pthread_mutex_unlock(&queue->lock);
    errno = error;
    return error == 0;
}

static ssize_t stream_take(void *cookie, const char *text, size_t length)
{
    return output_queue_put(cookie, text, length) ? (ssize_t)length : 0;
}

FILE *output_queue_stream(struct output_queue *queue)
{
    FILE *stream = fopencookie(queue, "w", (cookie_io_functions_t){.write = stream_take});
    if (!stream)
        memory_end();
    return stream;
}

size_t output_queue_bytes(struct output_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t bytes = queue->error ? 0 : queue->bytes;
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}

int output_queue_error(struct output_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    int error = queue->error;
    pthread_mutex_unlock(&queue->lock);
    return error;
}

void output_queue_fail(struct output_queue *queue, int error)
{
    pthread_mutex_lock(&queue->lock);
    queue->error = queue->error ? queue->error : error;
    pthread_mutex_unlock(&queue->lock);
}

void output_queue_drain(struct output_queue *queue, double seconds)
{
    pthread_mutex_lock(&queue->lock);
    double now = clock_seconds(), since = now;
    for (size_t left = queue->bytes; queue->bytes > 0 && !queue->error; left = queue->bytes) {
        queue_wait(queue, now + LOOK_SECONDS);
        now = clock_seconds();
        since = queue->bytes < left ? now : since;
        if (queue->bytes > 0 && (signals_pending() || (seconds > 0 && now - since > seconds)))
            queue->error = ETIMEDOUT;
    }
    pthread_mutex_unlock(&queue->lock);
}

void output_queue_settle(struct output_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    waiting_drop(queue);
    while (queue->bytes > 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

void output_queue_destroy(struct output_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->over = true;
    bool abandoned = queue->bytes > 0 && queue->started; /* its reader may pause for ever */
    queue->abandoned = abandoned;
    if (abandoned) {
        queue->error = queue->error ? queue->error : ETIMEDOUT;
        pthread_detach(queue->thread);
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    if (abandoned)
        return;
    if (queue->started)
        pthread_join(queue->thread, NULL);
    queue_free(queue);
}
