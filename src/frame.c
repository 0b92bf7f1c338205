/*
 * frame.c - messages of a known length over a non-blocking socket.
 */
#include "frame.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES 9
/* Bytes received from one peer before the others have their turn. */
#define FILL_MOST  ((size_t)4 << 20)
#define FILL_PIECE ((size_t)64 << 10)

enum frame_state frame_parse(const unsigned char *bytes, size_t have, struct frame *frame,
                             size_t *used)
{
    if (have < HEADER_BYTES)
        return FRAME_PART;
    struct reader reader = {.at = bytes, .left = have};
    size_t size = read_u32(&reader);
    int rank = (int)read_u32(&reader);
    int type = *read_bytes(&reader, 1);
    if (size > FRAME_MOST || rank < 0 || type == 0 || type >= FRAME_TYPES)
        return FRAME_BAD;
    if (reader.left < size)
        return FRAME_PART;
    *frame = (struct frame){.type = type, .rank = rank, .data = reader.at, .size = size};
    *used = HEADER_BYTES + size;
    return FRAME_WHOLE;
}

bool wire_put(struct wire *wire, int rank, int type, const void *data, size_t size)
{
    if (wire->sent > wire->out.size / 2) {
        bytes_drop(&wire->out, wire->sent);
        wire->sent = 0;
    }
    if (size > FRAME_MOST || !bytes_reserve(&wire->out, HEADER_BYTES + size))
        return false;
    unsigned char kind = (unsigned char)type;
    bytes_put_u32(&wire->out, (uint32_t)size);
    bytes_put_u32(&wire->out, (uint32_t)rank);
    bytes_put(&wire->out, &kind, 1);
    bytes_put(&wire->out, data, size);
    return true;
}

bool wire_pending(const struct wire *wire)
{
    return wire->sent < wire->out.size;
}

bool wire_flush(struct wire *wire)
{
    while (wire_pending(wire)) {
        ssize_t count =
            send(wire->fd, wire->out.data + wire->sent, wire->out.size - wire->sent, MSG_NOSIGNAL);
        if (count > 0)
            wire->sent += (size_t)count;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if (errno != EINTR)
            return false;
    }
    wire->out.size = wire->sent = 0;
    return true;
}

bool wire_fill(struct wire *wire)
{
    if (wire->taken > 0) /* a large frame that comes in pieces stays where it is */
        bytes_drop(&wire->in, wire->taken);
    wire->taken = 0;
    for (size_t filled = 0; filled < FILL_MOST;) {
        if (!bytes_reserve(&wire->in, FILL_PIECE))
            return false;
        ssize_t count =
            recv(wire->fd, wire->in.data + wire->in.size, wire->in.capacity - wire->in.size, 0);
        if (count > 0) {
            wire->in.size += (size_t)count;
            filled += (size_t)count;
        } else if (count == 0) {
            return false;
        } else if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
    }
    return true;
}

enum frame_state wire_take(struct wire *wire, struct frame *frame)
{
    size_t used = 0, have = wire->in.size - wire->taken;
    if (have == 0)
        return FRAME_PART;
    enum frame_state state = frame_parse(wire->in.data + wire->taken, have, frame, &used);
    wire->taken += used;
    return state;
}

void wire_close(struct wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    bytes_free(&wire->in);
    bytes_free(&wire->out);
    *wire = (struct wire){.fd = -1};
}
