/*
 * addresses.c - what ranks say of where they are to be found: tcp's homes and hellos, shm's
 * addresses and offers, where cuda's messages lie, and what rank 0 says through PMIx.
 *
 * Input: which of them it is, a number for it, then the bytes.
 */
#include <unistd.h>

#include "controlplane/bootstrap/internal.h"
#include "base/net/net.h"
#include "transports/cuda/internal.h"
#include "transports/shm/internal.h"
#include "transports/tcp/internal.h"
#include "transports/transports.h"
#include "fuzz.h"

#define RANKS 4

static struct transport_config config_make(int rank)
{
    return (struct transport_config){.rank = rank, .ranks = RANKS, .local_ranks = RANKS};
}

static void try_home(const unsigned char *data, size_t size, unsigned number)
{
    struct address_list home,
        here = {.host = number, .count = 1, .list = {{.family = 2, .prefix = 8}}};
    struct address routes[ADDRESSES_MOST];
    unsigned char blob[ADDRESSES_BLOB_MOST];
    struct sockaddr_storage place;
    char text[ADDRESS_TEXT];
    if (!addresses_decode(data, size, &home))
        return;
    require(home.count >= 0 && home.count <= ADDRESSES_MOST);
    int count = addresses_routes(&here, &home, routes);
    require(count >= 0 && count <= home.count);
    for (int i = 0; i < count; i++) {
        require(address_socket(&routes[i], &place) <= sizeof place);
        require(address_text(&routes[i], text)[0]);
    }
    require(addresses_encode(&home, blob) == size && memcmp(blob, data, size) == 0);
}

static void try_hello(const unsigned char *data, size_t size, unsigned number)
{
    const struct transport_config config = config_make(1);
    int expected = (int)(number % (RANKS + 1)) - 1, peer, lane;
    if (!tcp_hello_read(data, size, &config, expected, &peer, &lane))
        return;
    require(expected >= 0 ? peer == expected : peer > 1 && peer < RANKS);
    require(expected >= 0 || (lane >= 0 && lane < TCP_LANES_MOST));
}

/* The segment of rank 1, that is to be found by rank 0; both are this process. */
static void shm_pair(struct endpoint *ends[2])
{
    for (int rank = 0; rank < 2; rank++) {
        const struct transport_config config = config_make(rank);
        char reason[TRANSPORT_REASON_MOST];
        require(transport_shm.open(&config, &ends[rank], reason) == STATUS_OK);
    }
}

/* An address of rank 1 in which bytes of the input replace the true ones. */
static void try_segment(const unsigned char *data, size_t size, unsigned number)
{
    struct endpoint *ends[2];
    struct shm_address address;
    shm_pair(ends);
    size_t length = transport_shm.address(ends[1], &address);
    require(length == sizeof address);
    size_t at = number * 8 % sizeof address;
    memcpy((char *)&address + at, data, size < sizeof address - at ? size : sizeof address - at);
    const char *reason = transport_shm.attach(ends[0], 1, &address, sizeof address);
    require(!reason || reason[0]);
    require(transport_shm.attach(ends[0], 2, data, size % sizeof address));
    transport_shm.close(ends[0]);
    transport_shm.close(ends[1]);
}

static void try_offer(const unsigned char *data, size_t size, unsigned number)
{
    struct shm_offer offer = {0};
    memcpy(&offer, data, size < sizeof offer ? size : sizeof offer);
    enum copy_policy copy = number % 2 ? COPY_AUTO : COPY_LL;
    uint64_t bytes = number / 2 * 4096;
    if (!shm_offer_fits(&offer, copy, bytes))
        return;
    require(offer.offset <= bytes && offer.lanes <= bytes / SHM_CACHE_LINE);
    for (int ring = 0; ring < SHM_RINGS; ring++) {
        require(offer.geometry.cells[ring] <= bytes / SHM_CACHE_LINE);
        require((offer.geometry.cells[ring] > 0) == ((ring == SHM_LL) == (copy == COPY_LL)));
    }
}

/* A cell of a peer that has lent two regions, of so many bytes: all that is found lies in one. */
static void try_cell(const unsigned char *data, size_t size, unsigned number)
{
    static char memory[2][256];
    struct pull_peer peer = {.mapped = 2};
    struct pull_cell cell = {0};
    struct piece piece;
    memcpy(&cell, data, size < sizeof cell ? size : sizeof cell);
    for (int i = 0; i < 2; i++)
        peer.regions[i] = (struct memory_mapping){.base = memory[i], .bytes = number % 256};
    if (!pull_peer_find(&peer, &cell, &piece))
        return;
    const char *begin = memory[cell.region], *end = begin + number % 256;
    require(piece.base >= begin && piece.run > 0 && piece.times > 0);
    require(piece.run <= (size_t)(end - piece.base));
    size_t left = (size_t)(end - piece.base) - piece.run;
    require(piece.times == 1 || piece.stride == 0 || piece.times - 1 <= left / piece.stride);
}

static void try_meeting(const unsigned char *data, size_t size)
{
    struct membership membership = {.rank = 1, .ranks = RANKS}, again = membership;
    unsigned char word[SECRET_BYTES], second[SECRET_BYTES];
    char said[MANAGER_TEXT_MOST], *text = malloc(size + 1);
    require(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (meeting_decode(text, &membership, word)) {
        meeting_encode(&membership, word, said);
        require(meeting_decode(said, &again, second));
        require(memcmp(word, second, sizeof word) == 0);
        require(strcmp(again.root_host, membership.root_host) == 0);
        require(again.root_home.count == membership.root_home.count);
    }
    free(text);
}

enum { HOME, HELLO, SEGMENT, OFFER, MEETING, CELL, KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned kind = input_u8(&input) % KINDS, number = input_u8(&input);
    switch (kind) {
    case HOME:
        try_home(input.at, input.left, number);
        break;
    case HELLO:
        try_hello(input.at, input.left, number);
        break;
    case SEGMENT:
        try_segment(input.at, input.left, number);
        break;
    case OFFER:
        try_offer(input.at, input.left, number);
        break;
    case CELL:
        try_cell(input.at, input.left, number);
        break;
    case MEETING:
        try_meeting(input.at, input.left);
        break;
    }
    return 0;
}

static void seed(const char *name, int kind, unsigned number, const void *data, size_t size)
{
    struct bytes bytes = {0};
    const unsigned char head[] = {(unsigned char)kind, (unsigned char)number};
    bytes_put(&bytes, head, sizeof head);
    bytes_put(&bytes, data, size);
    fuzz_seed(name, bytes.data, bytes.size);
    bytes_free(&bytes);
}

void fuzz_seeds(void)
{
    struct address_list home;
    struct listeners listeners;
    unsigned char blob[ADDRESSES_BLOB_MOST];
    if (addresses_listen(NULL, false, &listeners, &home) == STATUS_OK) {
        listeners_close(&listeners);
        seed("home", HOME, 3, blob, addresses_encode(&home, blob));
        char text[MANAGER_TEXT_MOST];
        const struct membership root = {.root_host = "n1", .root_home = home};
        const unsigned char word[SECRET_BYTES] = "seed";
        meeting_encode(&root, word, text);
        seed("meeting", MEETING, 0, text, strlen(text));
    }
    unsigned char many[ADDRESSES_BLOB_MOST + 20];
    memset(many, 4, sizeof many);
    seed("home-full", HOME, 0, many, ADDRESSES_BLOB_MOST);
    seed("home-many", HOME, 0, many, sizeof many);
    const uint32_t hello[] = {0x02000000, 0x01000000, 0};
    seed("hello", HELLO, 0, hello, sizeof hello);
    seed("hello-expected", HELLO, 3, hello, sizeof hello);
    seed("segment", SEGMENT, 0, NULL, 0);
    seed("segment-host", SEGMENT, 0,
         "0123456789012345678901234567890123456789012345678901234567890123456789", 70);
    seed("segment-cookie", SEGMENT, offsetof(struct shm_address, cookie) / 8, "12345678", 8);
    seed("segment-pid", SEGMENT, offsetof(struct shm_address, pid) / 8, "\1\0\0\0", 4);
    const struct shm_offer offer = {.offset = 4096,
                                    .first_lane = 0,
                                    .lanes = 2,
                                    .geometry = {.cells = {4, 2, 2}, .slot_bytes = 256}};
    const struct shm_offer ll = {
        .offset = 4096, .lanes = 2, .geometry = {.cells = {[SHM_LL] = 2}, .slot_bytes = 256}};
    seed("offer", OFFER, 19, &offer, sizeof offer);
    seed("offer-ll", OFFER, 18, &ll, sizeof ll);
    const struct pull_cell cells[] = {
        {.offset = 8, .run = 16, .stride = 32, .times = 7, .region = 1},
        {.offset = 8, .run = 17, .stride = 32, .times = 8},
        {.offset = 8, .run = 16, .stride = UINT64_MAX / 4, .times = 5},
    };
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"cell", "cell-beyond", "cell-wraps"};
        seed(names[i], CELL, 248, &cells[i], sizeof cells[i]);
    }
    seed("offer-large", OFFER, 5, &offer, sizeof offer);
}
