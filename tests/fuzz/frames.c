/*
 * frames.c - the control plane's frames, out of a stream that comes in pieces and was changed on
 * the way.
 *
 * Input: one byte that says how the stream is cut into pieces; the change: where (16 bits), how
 * many bytes are left out there, how many are put in, and those; then the peer's frames: of each
 * its type, its rank (32 bits), its length (16 bits) and its content.
 *
 * The frames before the change are taken, up to the first invalid one; none behind it is.
 */
#include "controlplane/control/control.h"

#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define FRAMES_MOST 64

struct saying {
    struct frame frame;
    unsigned char *content;
    size_t end; /* of the frame, in the stream */
};

struct speech {
    struct saying sayings[FRAMES_MOST];
    int count;
    struct bytes stream;
};

static void open_pair(int pair[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        abort();
}

/* Reads the frames, and the stream that they become. */
static void speech_read(struct speech *speech, struct reader *input)
{
    const struct aead_keys keys = {0};
    struct wire wire = {0};
    int pair[2];
    open_pair(pair);
    wire_connect(&wire, pair[0], &keys);
    while (input->left > 0 && speech->count < FRAMES_MOST) {
        struct saying *saying = &speech->sayings[speech->count++];
        struct frame *frame = &saying->frame;
        frame->type = (int)input_u8(input);
        frame->rank = (int)read_u32(input);
        frame->size = input_u16(input);
        frame->data = saying->content = input_copy(input, &frame->size);
        require(wire_put(&wire, frame->rank, frame->type, frame->data, frame->size));
        while (wire_pending(&wire)) {
            unsigned char left[4096];
            ssize_t size;
            require(wire_flush(&wire));
            while ((size = recv(pair[1], left, sizeof left, 0)) > 0)
                bytes_put(&speech->stream, left, (size_t)size);
        }
        saying->end = speech->stream.size;
    }
    wire_close(&wire);
    close(pair[1]);
}

static void speech_free(struct speech *speech)
{
    for (int i = 0; i < speech->count; i++)
        free(speech->sayings[i].content);
    bytes_free(&speech->stream);
}

static bool frame_is_valid(const struct frame *frame)
{
    return frame->rank >= 0 && frame->type > 0 && frame->type < FRAME_TYPES;
}

/* All frames that have come are the next ones that were sent. */
static enum frame_state take_all(struct wire *wire, const struct speech *speech, int *taken)
{
    struct frame frame;
    enum frame_state state;
    while ((state = wire_take(wire, &frame)) == FRAME_WHOLE) {
        require(*taken < speech->count);
        const struct frame *said = &speech->sayings[(*taken)++].frame;
        require(frame_is_valid(said));
        require(frame.type == said->type && frame.rank == said->rank && frame.size == said->size);
        require(memcmp(frame.data, said->data, frame.size) == 0);
    }
    return state;
}

/* The stream comes, changed from `changed` on (where nothing was: SIZE_MAX). */
static void hear(const struct speech *speech, const struct bytes *stream, size_t piece,
                 size_t changed)
{
    const struct aead_keys keys = {0};
    struct wire wire = {0};
    enum frame_state last = FRAME_PART;
    int pair[2], taken = 0, expected = 0;
    open_pair(pair);
    wire_connect(&wire, pair[0], &keys);
    for (size_t at = 0; at < stream->size && last == FRAME_PART; at += piece) {
        size_t length = piece < stream->size - at ? piece : stream->size - at;
        require(send(pair[1], stream->data + at, length, 0) == (ssize_t)length);
        require(wire_fill(&wire));
        last = take_all(&wire, speech, &taken);
    }
    while (expected < speech->count && speech->sayings[expected].end <= changed &&
           frame_is_valid(&speech->sayings[expected].frame))
        expected++;
    require(taken == expected);
    if (expected < speech->count && speech->sayings[expected].end <= changed)
        require(last == FRAME_BAD);
    else
        require(last == FRAME_PART || (changed != SIZE_MAX && last == FRAME_FORGED));
    close(pair[1]);
    require(!wire_fill(&wire));
    wire_close(&wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    struct speech speech = {0};
    struct bytes stream = {0};
    size_t piece = input_u8(&input) + 1u, at = input_u16(&input), out = input_u8(&input);
    size_t in = input_u8(&input), same = 0;
    unsigned char *inserted = input_copy(&input, &in);
    speech_read(&speech, &input);
    const struct bytes *said = &speech.stream;
    at = at < said->size ? at : said->size;
    out = out < said->size - at ? out : said->size - at;
    bytes_put(&stream, said->data, at);
    bytes_put(&stream, inserted, in);
    bytes_put(&stream, said->data + at + out, said->size - at - out);
    while (same < said->size && same < stream.size && said->data[same] == stream.data[same])
        same++;
    bool whole = same == said->size && same == stream.size;
    hear(&speech, &stream, piece, whole ? SIZE_MAX : same);
    free(inserted);
    bytes_free(&stream);
    speech_free(&speech);
    return 0;
}

/* A frame of each type, the first of which may not be one. */
static void seed(const char *name, int first, const unsigned char change[5])
{
    static const char content[] = "some content, of several lengths, up to the longest";
    _Static_assert(sizeof content >= 2 * FRAME_TYPES, "each type has two bytes more");
    struct bytes bytes = {0};
    const unsigned char cut = 10;
    bytes_put(&bytes, &cut, 1);
    bytes_put(&bytes, change, 5);
    for (int type = first; type < FRAME_TYPES; type++) {
        unsigned size = 2u * (unsigned)type;
        const unsigned char head[] = {
            (unsigned char)type, (unsigned char)type, 0, 0, 0, (unsigned char)size, 0};
        bytes_put(&bytes, head, sizeof head);
        bytes_put(&bytes, content, size);
    }
    fuzz_seed(name, bytes.data, bytes.size);
    bytes_free(&bytes);
}

void fuzz_seeds(void)
{
    seed("all", 1, (const unsigned char[]){0, 0, 1, 1, 2}); /* as it was */
    seed("no-type", 0, (const unsigned char[]){0, 0, 1, 1, 0});
    seed("length", 1, (const unsigned char[]){0, 0, 1, 1, 200});
    seed("content", 1, (const unsigned char[]){80, 0, 1, 1, 'x'});
    seed("left-out", 1, (const unsigned char[]){27, 0, 29, 1, 'x'});
}
