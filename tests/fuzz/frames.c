/*
 * frames.c - the control plane's frames, out of a stream that comes in pieces.
 *
 * Input: one byte that says how the rest is cut into pieces, then what a peer sends.
 */
#include "frame.h"

#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* How many frames stand in all of it, and how it ends. */
static enum frame_state parse_at_once(const unsigned char *data, size_t size, size_t *frames)
{
    struct frame frame;
    size_t used = 0;
    for (*frames = 0;; ++*frames, data += used, size -= used) {
        enum frame_state state = frame_parse(data, size, &frame, &used);
        if (state != FRAME_WHOLE)
            return state;
        require(frame.type > 0 && frame.type < FRAME_TYPES && frame.rank >= 0);
        require(used <= size && frame.data + frame.size == data + used);
    }
}

static enum frame_state take_all(struct wire *wire, size_t *frames)
{
    struct frame frame;
    enum frame_state state;
    unsigned sum = 0;
    while ((state = wire_take(wire, &frame)) == FRAME_WHOLE) {
        for (size_t i = 0; i < frame.size; i++)
            sum += frame.data[i];
        ++*frames;
    }
    return sum == 1 ? state : state; /* the sum is for the sanitizer */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        return 0;
    size_t piece = data[0] + 1u, frames, taken = 0;
    enum frame_state state = parse_at_once(data + 1, size - 1, &frames), last = FRAME_PART;
    struct wire wire = {.fd = pair[0]};
    for (size_t at = 1; at < size && last == FRAME_PART; at += piece) {
        size_t length = piece < size - at ? piece : size - at;
        require(send(pair[1], data + at, length, 0) == (ssize_t)length);
        require(wire_fill(&wire));
        last = take_all(&wire, &taken);
    }
    require(taken == frames && last == state);
    close(pair[1]);
    require(!wire_fill(&wire));
    wire_close(&wire);
    return 0;
}

void fuzz_seeds(void)
{
    struct wire wire = {.fd = -1};
    const unsigned char cut = 10;
    bytes_put(&wire.out, &cut, 1);
    for (int type = 1; type < FRAME_TYPES; type++)
        wire_put(&wire, type, type, "some content, of several lengths", 2u * (unsigned)type);
    wire_put(&wire, 0, FRAME_PULSE, NULL, 0);
    fuzz_seed("all", wire.out.data, wire.out.size);
    wire_close(&wire);
}
