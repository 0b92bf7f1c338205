/*
 * frame.c - messages of a known length over a non-blocking socket.
 */
#include "controlplane/control/control.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENGTH_BYTES 4
#define HEAD_BYTES   5 /* behind it: rank and type */
/* Bytes that all frames have besides their content. */
#define FRAME_BYTES (LENGTH_BYTES + HEAD_BYTES + AEAD_TAG_BYTES)
/* Bytes received from one peer before the others have their turn. */
#define FILL_MOST     ((size_t)4 << 20)
#define FILL_PIECE    ((size_t)64 << 10)
#define ENCRYPT_PIECE ((size_t)64 << 10) /* encrypted at a time, or one frame: it is work */
/* Bytes that an empty buffer keeps, at most: large frames are rare, and a rank has many
 * connections. */
#define EMPTY_MOST ((size_t)256 << 10)

/* Nothing in it is needed any more. */
static void buffer_empty(struct bytes *bytes)
{
    bytes->size = 0;
    if (bytes->capacity > EMPTY_MOST)
        bytes_free(bytes);
}

static size_t frame_length(const unsigned char *bytes)
{
    struct reader reader = {.at = bytes, .left = LENGTH_BYTES};
    return read_u32(&reader);
}

void wire_connect(struct wire *wire, int fd, const struct aead_keys *keys)
{
    if (wire->encrypted > 0)
        bytes_drop(&wire->out, wire->encrypted);
    wire->in.size = wire->taken = wire->sent = wire->encrypted = 0;
    wire->fd = fd;
    wire->keys = *keys;
}

bool wire_put(struct wire *wire, int rank, int type, const void *data, size_t size)
{
    static const unsigned char room[AEAD_TAG_BYTES];
    if (wire->sent > wire->out.size / 2) {
        bytes_drop(&wire->out, wire->sent);
        wire->encrypted -= wire->sent;
        wire->sent = 0;
    }
    if (size > FRAME_MOST)
        return false;
    bytes_reserve(&wire->out, FRAME_BYTES + size);
    unsigned char kind = (unsigned char)type;
    bytes_put_u32(&wire->out, (uint32_t)size);
    bytes_put_u32(&wire->out, (uint32_t)rank);
    bytes_put(&wire->out, &kind, 1);
    bytes_put(&wire->out, data, size);
    bytes_put(&wire->out, room, sizeof room);
    return true;
}

/* Encrypts what is to leave next. */
static void wire_encrypt(struct wire *wire)
{
    while (wire->encrypted < wire->out.size && wire->encrypted - wire->sent < ENCRYPT_PIECE) {
        unsigned char *frame = wire->out.data + wire->encrypted;
        size_t size = frame_length(frame);
        aead_encrypt(&wire->keys.out, frame + LENGTH_BYTES, HEAD_BYTES + size);
        wire->encrypted += FRAME_BYTES + size;
    }
}

bool wire_pending(const struct wire *wire)
{
    return wire->sent < wire->out.size;
}

bool wire_flush(struct wire *wire)
{
    while (wire_pending(wire)) {
        wire_encrypt(wire);
        ssize_t count =
            send(wire->fd, wire->out.data + wire->sent, wire->encrypted - wire->sent, MSG_NOSIGNAL);
        if (count > 0)
            wire->sent += (size_t)count;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if (errno != EINTR)
            return false;
    }
    buffer_empty(&wire->out);
    wire->encrypted = wire->sent = 0;
    return true;
}

bool wire_fill(struct wire *wire)
{
    if (wire->taken > 0) /* a large frame that comes in pieces stays where it is */
        bytes_drop(&wire->in, wire->taken);
    wire->taken = 0;
    for (size_t filled = 0; filled < FILL_MOST;) {
        bytes_reserve(&wire->in, FILL_PIECE);
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
    size_t have = wire->in.size - wire->taken;
    if (have == 0) {
        buffer_empty(&wire->in);
        wire->taken = 0;
    }
    if (have < LENGTH_BYTES)
        return FRAME_PART;
    unsigned char *bytes = wire->in.data + wire->taken;
    size_t size = frame_length(bytes);
    if (size > FRAME_MOST)
        return FRAME_FORGED;
    if (have < FRAME_BYTES + size)
        return FRAME_PART;
    if (!aead_decrypt(&wire->keys.in, bytes + LENGTH_BYTES, HEAD_BYTES + size))
        return FRAME_FORGED;
    wire->taken += FRAME_BYTES + size;
    struct reader reader = {.at = bytes + LENGTH_BYTES, .left = HEAD_BYTES + size};
    frame->rank = (int)read_u32(&reader);
    frame->type = *read_bytes(&reader, 1);
    frame->data = reader.at;
    frame->size = size;
    bool known = frame->rank >= 0 && frame->type > 0 && frame->type < FRAME_TYPES;
    return known ? FRAME_WHOLE : FRAME_BAD;
}

void wire_dismiss(struct wire *wire, int type, const struct bytes *bytes)
{
    wire_put(wire, 0, type, bytes->data, bytes->size);
    wire_flush(wire);
    wire_close(wire);
}

void wire_close(struct wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    bytes_free(&wire->in);
    bytes_free(&wire->out);
    *wire = (struct wire){.fd = -1};
}
