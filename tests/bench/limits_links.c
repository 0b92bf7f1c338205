/*
 * limits_links.c - measures communication between two cores: by a cache line, and by loopback TCP,
 * the limit of a collective over sockets.
 *
 * The sockets are non-blocking and polled.
 */
#include "limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_TRIPS    20000
#define PING_TRIPS    2000
#define PING_BYTES    8
#define STREAM_BYTES  ((size_t)128 << 20) /* in each direction, a round */
#define STREAM_BUFFER ((size_t)8 << 20)   /* source and destination; the least size with a limit */

/* The cache line. */

struct line {
    _Atomic uint32_t ball;
} __attribute__((aligned(128)));

static void line_measure(struct process *process, void *argument)
{
    struct line *line = argument;
    static struct series series;
    uint32_t ball = 0;
    for (int round = 0; round < process->limits->rounds; round++) {
        process_meet(process);
        uint64_t begun = clock_ns();
        for (int trip = 0; trip < LINE_TRIPS; trip++, ball += 2) {
            /* Process 0 makes it odd, process 1 makes it even. */
            uint32_t wanted = ball + (uint32_t)process->rank;
            while (atomic_load_explicit(&line->ball, memory_order_acquire) != wanted)
                continue;
            atomic_store_explicit(&line->ball, wanted + 1, memory_order_release);
        }
        double seconds = process_slowest(process, (double)(clock_ns() - begun) * 1e-9);
        series_add(&series, seconds / LINE_TRIPS / 2 * 1e9);
    }
    if (process->rank == 0) {
        printf(", ");
        series_print("line_ns", &series, false);
    }
}

void limits_line(const struct limits *limits)
{
    if (limits->cpu_count < 2)
        return; /* it would measure the scheduler */
    struct line *line =
        mmap(NULL, sizeof(*line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (line == MAP_FAILED)
        die("mmap");
    processes_run(limits, 2, line_measure, line);
    munmap(line, sizeof(*line));
}

/* TCP. */

/* How a stream is cut and buffered, and whether two sending processes share a connection. The best
* way differs, so all are tried. */
static const struct manner {
    size_t chunk; /* bytes of one call */
    int buffer;   /* of each socket; 0: the kernel's choice */
    bool shared;
} manners[] = {
    {(size_t)128 << 10, 0, false},       {(size_t)128 << 10, 0, true},
    {(size_t)256 << 10, 0, false},       {(size_t)256 << 10, 0, true},
    {(size_t)1 << 20, 0, false},         {(size_t)1 << 20, 0, true},
    {(size_t)256 << 10, 4 << 20, false}, {(size_t)256 << 10, 4 << 20, true},
    {(size_t)1 << 20, 4 << 20, false},   {(size_t)1 << 20, 4 << 20, true},
};

#define MANNERS (sizeof(manners) / sizeof(*manners))

/* Sockets of all processes, made before the fork; -1: none. */
struct sockets {
    int out[RANKS_MOST], in[RANKS_MOST];
};

/* The congestion control of the system may pace its output (bbr), which hides the limit of
* loopback. cctest's tcp does the same. */
static void socket_prepare(int fd, int buffer)
{
    static const char control[] = "reno"; /* every Linux has it */
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, sizeof(control) - 1);
    if (buffer) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        die("a socket that does not block");
}

static void sockets_connect(int buffer, int *one, int *other)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || *one < 0 || bind(listener, (struct sockaddr *)&address, length) ||
        listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &length) ||
        connect(*one, (struct sockaddr *)&address, length))
        die("a connection over loopback");
    *other = accept(listener, NULL, NULL);
    if (*other < 0)
        die("accepting a connection over loopback");
    close(listener);
    socket_prepare(*one, buffer);
    socket_prepare(*other, buffer);
}

/* Sends or receives some of the rest; returns the bytes. */
static size_t socket_move(int fd, bool sends, char *buffer, size_t bytes)
{
    ssize_t moved = sends ? send(fd, buffer, bytes, MSG_NOSIGNAL) : recv(fd, buffer, bytes, 0);
    if (moved > 0)
        return (size_t)moved;
    if (moved == 0 || (errno != EAGAIN && errno != EINTR))
        die("a stream over loopback");
    return 0;
}

static size_t stream_step(int fd, bool sends, char *buffer, size_t done, size_t chunk)
{
    size_t at = done % STREAM_BUFFER, left = STREAM_BYTES - done;
    size_t piece = chunk < STREAM_BUFFER - at ? chunk : STREAM_BUFFER - at;
    return socket_move(fd, sends, buffer + at, piece < left ? piece : left);
}

struct stream {
    struct sockets sockets[MANNERS];
    struct series series[MANNERS];
};

static double stream_once(struct process *process, const struct sockets *sockets, size_t chunk,
                          char *source, char *target)
{
    int out = sockets->out[process->rank], in = sockets->in[process->rank];
    size_t sent = out < 0 ? STREAM_BYTES : 0, received = in < 0 ? STREAM_BYTES : 0;
    process_meet(process);
    uint64_t begun = clock_ns();
    for (long looks = 0; sent < STREAM_BYTES || received < STREAM_BYTES; looks++) {
        size_t before = sent + received;
        if (sent < STREAM_BYTES)
            sent += stream_step(out, true, source, sent, chunk);
        if (received < STREAM_BYTES)
            received += stream_step(in, false, target, received, chunk);
        if (sent + received == before)
            process_idle(process, looks);
        else
            looks = 0;
    }
    double seconds = process_slowest(process, (double)(clock_ns() - begun) * 1e-9);
    return (double)STREAM_BYTES / seconds * 1e-9;
}

static void stream_measure(struct process *process, void *argument)
{
    struct stream *stream = argument;
    char *source = malloc(STREAM_BUFFER), *target = malloc(STREAM_BUFFER);
    if (!source || !target)
        die("memory for a stream");
    memset(source, 1, STREAM_BUFFER);
    memset(target, 2, STREAM_BUFFER);
    for (int round = 0; round < process->limits->rounds; round++) {
        for (size_t m = 0; m < MANNERS; m++)
            series_add(&stream->series[m],
                       stream_once(process, &stream->sockets[m], manners[m].chunk, source, target));
    }
    if (process->rank == 0) {
        size_t best = 0;
        for (size_t m = 1; m < MANNERS; m++) {
            if (series_best(&stream->series[m], true) > series_best(&stream->series[best], true))
                best = m;
        }
        printf("\"GBps\": %.3f, \"chunk\": %zu, \"socket_buffer\": %d, \"shared\": %s, ",
               series_best(&stream->series[best], true), manners[best].chunk, manners[best].buffer,
               manners[best].shared ? "true" : "false");
        series_print("rounds", &stream->series[best], true);
    }
    free(target);
    free(source);
}

static void sockets_close(const struct sockets *sockets, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        if (sockets->out[i] >= 0)
            close(sockets->out[i]);
        if (sockets->in[i] >= 0 && sockets->in[i] != sockets->out[i])
            close(sockets->in[i]);
    }
}

/* `ring`: each process sends to the next and receives from the previous one; otherwise only process
* 0 sends, to process 1. The result is the best round: such streams fall into slower patterns at
* random, and the limit is wanted. */
static void stream_run(const struct limits *limits, const char *title, int ranks, bool ring)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        die("memory for a stream");
    for (size_t m = 0; m < MANNERS; m++) {
        struct sockets *sockets = &stream->sockets[m];
        for (int i = 0; i < ranks; i++)
            sockets->out[i] = sockets->in[i] = -1;
        if (ring && ranks == 2 && manners[m].shared) {
            sockets_connect(manners[m].buffer, &sockets->out[0], &sockets->out[1]);
            sockets->in[0] = sockets->out[0];
            sockets->in[1] = sockets->out[1];
            continue;
        }
        for (int i = 0; i < (ring ? ranks : 1); i++)
            sockets_connect(manners[m].buffer, &sockets->out[i], &sockets->in[(i + 1) % ranks]);
    }
    printf(", \"%s\": {", title);
    processes_run(limits, ranks, stream_measure, stream);
    printf("}");
    for (size_t m = 0; m < MANNERS; m++)
        sockets_close(&stream->sockets[m], ranks);
    free(stream);
}

/* Sends or receives all of a small message. */
static void ping_move(const struct process *process, int fd, bool sends, char *buffer)
{
    size_t done = 0;
    for (long looks = 0; done < PING_BYTES; looks++) {
        done += socket_move(fd, sends, buffer + done, PING_BYTES - done);
        if (done == 0)
            process_idle(process, looks);
    }
}

static void ping_measure(struct process *process, void *argument)
{
    const struct sockets *sockets = argument;
    int fd = sockets->out[process->rank];
    char buffer[PING_BYTES] = {0};
    static struct series series;
    for (int round = 0; round < process->limits->rounds; round++) {
        process_meet(process);
        uint64_t begun = clock_ns();
        for (int trip = 0; trip < PING_TRIPS; trip++) {
            ping_move(process, fd, process->rank == 0, buffer);
            ping_move(process, fd, process->rank != 0, buffer);
        }
        double seconds = process_slowest(process, (double)(clock_ns() - begun) * 1e-9);
        series_add(&series, seconds / PING_TRIPS / 2 * 1e6);
    }
    if (process->rank == 0) {
        printf(", ");
        series_print("tcp_half_round_trip_us", &series, false);
    }
}

void limits_tcp(const struct limits *limits)
{
    struct sockets sockets;
    sockets_connect(0, &sockets.out[0], &sockets.out[1]);
    processes_run(limits, 2, ping_measure, &sockets);
    close(sockets.out[0]);
    close(sockets.out[1]);
    stream_run(limits, "tcp_one_way", 2, false);
    if (limits->ranks >= 2)
        stream_run(limits, "tcp_both_ways", limits->ranks, true);
}
