/*
 * delay_line.c - cables with a rate and a delay, where the kernel has no netem.
 *
 * usage: delay_line MICROSECONDS MBIT DEVICE:TAP...
 *
 * A frame that arrives at DEVICE goes onto the cable when those before it are on it, takes its
 * length over the rate for that, and leaves TAP the delay later; the other way round likewise. So
 * even a single short frame takes its time, which a token bucket would let pass at once. DEVICE is
 * the open end of a cable, on no bridge; the program creates TAP, which the caller puts on a bridge
 * once "ready" is on standard output. Both ends carry what the kernel says of a frame (checksums to
 * be filled in, segments to be cut), so nothing is switched off. It ends with its standard input.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define LINES_MOST 64
#define FRAME_MOST (sizeof(struct virtio_net_hdr) + 65536 + ETH_HLEN)
#define HELD_MOST  4096 /* frames on a line; more are lost, as in a switch */

struct frame {
    uint64_t due; /* ns */
    size_t bytes;
    char *data;
};

/* One direction of a cable. */
struct line {
    int from, to;
    uint64_t free_at;             /* ns: all before are on the cable */
    struct frame held[HELD_MOST]; /* a ring */
    unsigned first, count;
};

static void die(const char *what, const char *device)
{
    fprintf(stderr, "delay_line: cannot %s %s: %s\n", what, device, strerror(errno));
    exit(1);
}

static int device_open(const char *device)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex(device)};
    const int yes = 1;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("read frames of", device);
    return fd;
}

static int tap_open(const char *tap)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", tap);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0 ||
        ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0)
        die("create", tap);
    return fd;
}

/* The delay of a cable, and the time that a byte takes on it. */
struct cable {
    uint64_t delay; /* ns */
    double byte;    /* ns */
};

/* Takes all frames that have arrived. */
static void line_take(struct line *line, const struct cable *cable)
{
    static char data[FRAME_MOST];
    for (ssize_t bytes; (bytes = read(line->from, data, sizeof data)) > 0;) {
        struct frame *frame = &line->held[(line->first + line->count) % HELD_MOST];
        if (line->count == HELD_MOST || !(frame->data = malloc((size_t)bytes)))
            continue;
        memcpy(frame->data, data, (size_t)bytes);
        frame->bytes = (size_t)bytes;
        uint64_t now = clock_ns();
        line->free_at =
            (line->free_at > now ? line->free_at : now) +
            (uint64_t)(cable->byte * (double)((size_t)bytes - sizeof(struct virtio_net_hdr)));
        frame->due = line->free_at + cable->delay;
        line->count++;
    }
}

/* Lets go what is due. Returns when the next frame is, ns. */
static uint64_t line_give(struct line *line)
{
    for (; line->count > 0; line->count--) {
        struct frame *frame = &line->held[line->first];
        if (frame->due > clock_ns())
            return frame->due;
        ssize_t sent = write(line->to, frame->data, frame->bytes);
        (void)sent; /* a device that is down, or full, loses frames */
        free(frame->data);
        line->first = (line->first + 1) % HELD_MOST;
    }
    return UINT64_MAX;
}

int main(int argc, char **argv)
{
    static struct line lines[LINES_MOST];
    struct pollfd polled[LINES_MOST + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    const struct cable cable = {.delay = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000 : 0,
                                .byte = argc > 2 ? 8000 / strtod(argv[2], NULL) : 0};
    int count = 0;
    for (int i = 3; i < argc && count < LINES_MOST; i++) {
        char *tap = strchr(argv[i], ':');
        if (!tap)
            break;
        *tap++ = '\0';
        int ends[2] = {device_open(argv[i]), tap_open(tap)};
        for (int end = 0; end < 2; end++, count++) {
            lines[count].from = ends[end];
            lines[count].to = ends[!end];
            polled[count + 1] = (struct pollfd){.fd = ends[end], .events = POLLIN};
        }
    }
    if (!(cable.byte > 0) || count == 0) {
        fprintf(stderr, "usage: delay_line MICROSECONDS MBIT DEVICE:TAP...\n");
        return 2;
    }
    printf("ready\n");
    fflush(stdout);
    while (polled[0].revents == 0) {
        uint64_t next = UINT64_MAX, now;
        for (int i = 0; i < count; i++) {
            line_take(&lines[i], &cable);
            uint64_t due = line_give(&lines[i]);
            next = due < next ? due : next;
        }
        now = clock_ns();
        uint64_t left = next > now ? next - now : 0;
        struct timespec wait = {.tv_sec = (time_t)(left / 1000000000),
                                .tv_nsec = (long)(left % 1000000000)};
        if (ppoll(polled, (nfds_t)count + 1, next == UINT64_MAX ? NULL : &wait, NULL) < 0 &&
            errno != EINTR)
            die("wait for", "frames");
    }
    return 0;
}
