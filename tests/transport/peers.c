/*
 * peers.c - requirements for every listed transport: paths, combining, many peers, connections from
 * outside the job. (conformance.c: the streams of bytes. processes.c: death of a peer.)
 * tier: check; load: cpu1
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "world.h"

static uint64_t sum_of(const uint64_t by_path[PATHS])
{
    uint64_t sum = 0;
    for (int path = 0; path < PATHS; path++)
        sum += by_path[path];
    return sum;
}

static void paths_agree(struct rank *me, const uint64_t by_path[PATHS], size_t bytes)
{
    require(me, sum_of(by_path) == bytes);
    if (me->world->config.copy == COPY_ZCOPY)
        require(me, by_path[PATH_ZCOPY] == bytes);
    if (me->world->config.copy == COPY_BCOPY)
        require(me, by_path[PATH_ZCOPY] + by_path[PATH_LL] == 0);
    require(me, by_path[PATH_LL] == (me->world->config.copy == COPY_LL ? bytes : 0));
}

/* All sizes arrive, by the path that the policy demands. */
static void sizes(struct rank *me)
{
    static const size_t list[] = {1,     2,     3,     7,     8,       15,   56,      63,
                                  64,    65,    1000,  4095,  4096,    4097, 8192,    16384,
                                  16385, 65535, 65536, 65537, MIB - 1, MIB,  MIB + 1, 17 * MIB};
    const struct traffic *traffic = &me->endpoint->traffic;
    size_t total = 0;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && list[i] <= me->world->bytes; i++) {
        struct transfer transfer;
        struct piece piece;
        char *data = me->region.base;
        if (me->number == 0)
            rank_write(me, i, data, list[i]);
        transfer =
            transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece, data, list[i]);
        rank_post(me, !me->number, 0, &transfer);
        if (!rank_complete(me, &transfer, 1))
            return;
        total += list[i];
        if (me->number)
            require(me, rank_has(me, i, data, list[i]));
    }
    paths_agree(me, me->number ? traffic->received : traffic->sent, total);
    require(me, sum_of(me->number ? traffic->sent : traffic->received) == 0);
    uint64_t copied = traffic->copied_sending + traffic->copied_receiving;
    if (me->world->config.copy == COPY_ZCOPY)
        require(me, copied == 0);
    if (me->world->config.copy == COPY_BCOPY && me->number == 0)
        require(me, copied >= total);
}

/* For the longest message, which is longer than the largest step of a transport, 16 MiB. */
static void bend_large(struct world *world)
{
    world->bytes = 17 * MIB;
}

static void test_sizes(void **state)
{
    run_everywhere(state, sizes, bend_large, 2);
}

/* recv_reduce: to = with (+) incoming, for elements of several sizes, in place and not, with limits
 * that grow, and in pieces other than the sender's. */
struct combination {
    const char *type;
    size_t elements;
    bool in_place;
};

static void number_set(char *at, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (char)(value >> 8 * i);
}

static reduce_function *reduce_of(const struct rank *me, const struct datatype *type)
{
    const struct reduction *sum = reduction_find("sum");
    const struct memory_kind *kind = me->region.kind;
    return kind->reduce ? kind->reduce(type, sum) : reduce_kernel(type, sum);
}

static void combine_one(struct rank *me, const struct combination *combination)
{
    const struct datatype *type = datatype_find(combination->type);
    reduce_function *reduce = reduce_of(me, type);
    size_t size = type->size, bytes = combination->elements * size;
    struct piece flat, to, with;
    struct transfer transfer;
    me->taken = 0;
    char *from = rank_take(me, bytes), *target = rank_take(me, 2 * bytes);
    for (size_t i = 0; i < combination->elements; i++)
        number_set(rank_view(me, from) + i * size, size, (i + 3 * (size_t)me->number) & 63);
    transfer =
        transfer_make(me, me->number ? TRANSFER_RECV_REDUCE : TRANSFER_SEND, &flat, from, bytes);
    /* Every other element of the target. */
    to = (struct piece){
        .base = target, .run = size, .stride = 2 * size, .times = combination->elements};
    with = combination->in_place ? to : flat;
    if (me->number) {
        struct piece view = to;
        struct cursor cursor;
        view.base = rank_view(me, target);
        memset(view.base, '#', 2 * bytes);
        cursor_start(&cursor, (struct layout){.pieces = &view, .count = 1});
        cursor_scatter(&cursor, rank_view(me, from), bytes);
        transfer.to = (struct layout){.pieces = &to, .count = 1};
        transfer.with = (struct layout){.pieces = &with, .count = 1};
        transfer.reduce = reduce;
    }
    rank_show(me, me->region.base, me->taken);
    transfer.element = size;
    transfer.limit = 0;
    rank_post(me, !me->number, 0, &transfer);
    while (transfer.done < bytes) {
        size_t more = size * (1 + random_below(&me->random, 2 + combination->elements / 20));
        transfer.limit = bytes - transfer.limit < more ? bytes : transfer.limit + more;
        if (!rank_turn(me))
            return;
        require(me, transfer.done <= transfer.limit);
    }
    const char *got = rank_look(me, target, 2 * bytes);
    for (size_t i = 0; me->number && i < combination->elements; i++) {
        char expected[8];
        number_set(expected, size, (i & 63) + ((i + 3) & 63));
        require(me, !memcmp(got + 2 * i * size, expected, size));
        require(me, got[(2 * i + 1) * size] == '#');
    }
}

static void combine(struct rank *me)
{
    static const struct combination list[] = {
        {"uint32", 1, false},     {"uint32", 1, true},      {"uint8", 3, false},
        {"uint64", 50000, true},  {"uint64", 50000, false}, {"uint8", 70001, false},
        {"uint32", 30011, false}, {"uint32", 30011, true},  {"uint64", 7, false},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && !me->world->failed; i++) {
        struct combination one = list[i];
        if (me->world->config.slots == 1 && one.elements > 1000) /* still hundreds of slots */
            one.elements = one.elements / 5 | 1;
        combine_one(me, &one);
    }
    const struct traffic *traffic = &me->endpoint->traffic;
    const uint64_t *by_path = me->number ? traffic->received : traffic->sent;
    paths_agree(me, by_path, sum_of(by_path));
}

static void test_combine(void **state)
{
    run_everywhere(state, combine, NULL, 2);
}

static void bend_small_slots_and_grain(struct world *world)
{
    bend_small_slots(world);
    world->grain = 1000;
}

static void test_combine_small_slots(void **state)
{
    run_everywhere(state, combine, bend_small_slots_and_grain, 2);
}

/* recv_reduce where what is written, or what is combined with, lies in more pieces than a transport
 * may take at once. */
enum { SCATTERED = 100, RUN = 30, SCATTERED_ELEMENTS = SCATTERED * RUN };

/* Runs of elements of 8 bytes, with a gap behind each. */
static struct layout scatter(struct rank *me, struct piece *pieces)
{
    for (size_t i = 0; i < SCATTERED; i++)
        pieces[i] = (struct piece){
            .base = rank_take(me, (RUN + 1) * 8), .run = RUN * 8, .stride = RUN * 8, .times = 1};
    return (struct layout){.pieces = pieces, .count = SCATTERED};
}

/* Element `i` is i + `more`; gaps are filled with '#'. */
static void layout_number(const struct rank *me, struct layout layout, uint64_t more)
{
    struct piece views[SCATTERED];
    struct cursor cursor;
    char values[SCATTERED_ELEMENTS * 8];
    for (size_t i = 0; i < SCATTERED_ELEMENTS; i++)
        number_set(values + 8 * i, 8, i + more);
    for (size_t i = 0; i < layout.count; i++)
        memset(rank_view(me, layout.pieces[i].base) + layout.pieces[i].run, '#', 8);
    cursor_start(&cursor, rank_view_layout(me, layout, views));
    cursor_scatter(&cursor, values, sizeof values);
}

static void layout_require(struct rank *me, struct layout layout, uint64_t more, uint64_t times)
{
    struct piece views[SCATTERED];
    struct cursor cursor;
    char values[SCATTERED_ELEMENTS * 8], expected[8];
    rank_look(me, me->region.base, me->taken);
    cursor_start(&cursor, rank_view_layout(me, layout, views));
    cursor_gather(&cursor, values, sizeof values);
    for (size_t i = 0; i < SCATTERED_ELEMENTS; i++) {
        number_set(expected, 8, times * i + more);
        require(me, !memcmp(values + 8 * i, expected, 8));
    }
    for (size_t i = 0; i < layout.count; i++)
        require(me, !memcmp(views[i].base + views[i].run, "########", 8));
}

static void combine_scattered(struct rank *me)
{
    struct piece pieces[SCATTERED], flat[2];
    for (int way = 0; way < 2; way++) { /* `with` scattered, `to` scattered */
        me->taken = 0;
        struct layout layouts[3];
        for (int i = 0; i < 2; i++) {
            flat[i] = (struct piece){.run = SCATTERED_ELEMENTS * 8, .times = 1};
            flat[i].base = rank_take(me, SCATTERED_ELEMENTS * 8 + 8);
            layouts[i] = (struct layout){.pieces = &flat[i], .count = 1};
        }
        layouts[2] = scatter(me, pieces);
        /* The data that is sent lies in one piece, which asks for no cut. */
        struct layout with = layouts[me->number && way == 0 ? 2 : 0],
                      to = layouts[way == 1 ? 2 : 1];
        struct transfer transfer = {.kind = me->number ? TRANSFER_RECV_REDUCE : TRANSFER_SEND,
                                    .from = with,
                                    .with = with,
                                    .to = to,
                                    .reduce = reduce_of(me, datatype_find("uint64")),
                                    .element = 8,
                                    .length = SCATTERED_ELEMENTS * 8,
                                    .grain = me->world->grain,
                                    .limit = SCATTERED_ELEMENTS * 8,
                                    .moved = &me->moved};
        layout_number(me, to, 0);
        layout_number(me, with, me->number ? 5 : 1000);
        rank_show(me, me->region.base, me->taken);
        rank_post(me, !me->number, 0, &transfer);
        if (!rank_complete(me, &transfer, 1))
            return;
        layout_require(me, with, me->number ? 5 : 1000, 1);
        if (me->number)
            layout_require(me, to, 1005, 2);
    }
}

static void test_combine_scattered(void **state)
{
    run_everywhere(state, combine_scattered, NULL, 2);
}

/* Rank 1 waits for a message that rank 0 sends late, which is no fault of the link. Turns 0 and 3
 * count; turn 1 is not watched, and the message of turn 2 is too short. */
static void waits_are_counted(struct rank *me)
{
    const struct transport *transport = me->world->transport;
    const uint64_t pause = 20000000; /* ns */
    _Atomic size_t *turns = me->world->shared, *starved = &me->world->shared[2];
    struct wait_stats before[2] = {{0}}, now[2];
    for (size_t turn = 0; turn < 4 && transport->wait_stats; turn++) {
        struct transfer transfer;
        struct piece piece;
        size_t bytes = turn == 2 ? WAIT_STATS_LEAST - 1 : WAIT_STATS_LEAST;
        me->endpoint->watched = turn != 1;
        transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece,
                                 rank_take(me, bytes), bytes);
        while (me->number == 0 && turns[0] <= turn && rank_turn(me))
            continue;
        if (me->number == 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
        rank_post(me, !me->number, 0, &transfer);
        rank_turn(me);
        if (me->number == 1)
            turns[0] = turn + 1;
        if (!rank_complete(me, &transfer, 1))
            return;
        for (int sends = 0; sends < 2; sends++)
            transport->wait_stats(transport->channel(me->endpoint, !me->number, 0, sends),
                                  &now[sends]);
        require(me, now[0].busy == 0 && now[0].resent == 0 && now[1].starved == 0);
        if (me->number == 0 || turn == 1 || turn == 2)
            require(me, now[0].starved == before[0].starved);
        else
            require(me, now[0].starved >= before[0].starved + pause);
        if (me->number == 1) {
            starved[0] = now[0].starved - before[0].starved;
            turns[1] = turn + 1;
        }
        while (me->number == 0 && turns[1] <= turn && rank_turn(me))
            continue;
        if (me->number == 0 && turn % 3 == 0) /* kernels count coarsely */
            require(me, now[1].busy - before[1].busy + pause / 2 <= starved[0]);
        memcpy(before, now, sizeof before);
    }
}

static void bend_watched(struct world *world)
{
    world->config.watches = true;
}

static void test_wait_stats(void **state)
{
    run_everywhere(state, waits_are_counted, bend_watched, 2);
}

/* All to all, several messages on two lanes. The lanes are connected one after the other, the first
 * one with the neighbours only. */
enum { MANY = 8, MESSAGES = 3, MANY_LANES = 2, EACH = MESSAGES * MANY_LANES };
static void many_peers(struct rank *me)
{
    static const size_t length[MESSAGES] = {5, 3000, 50000};
    struct transfer transfers[MANY * EACH * 2];
    struct piece pieces[MANY * EACH * 2];
    char *got[MANY][EACH];
    int peers[MANY], neighbours[2] = {(me->number + 1) % MANY, (me->number + MANY - 1) % MANY};
    size_t count = 0;
    for (int i = 1; i < MANY; i++)
        peers[i - 1] = (me->number + i) % MANY;
    require(me, rank_connect(me, neighbours, 2, 1) == STATUS_OK);
    const struct transport *transport = me->endpoint->transport;
    struct channel *early = transport->channel(me->endpoint, neighbours[0], 0, true);
    require(me, early != NULL);
    require(me, rank_connect(me, peers, MANY - 1, MANY_LANES) == STATUS_OK);
    rank_settle(me);
    require(me, early == transport->channel(me->endpoint, neighbours[0], 0, true));
    for (int i = 0; i < MANY - 1; i++) {
        for (int m = 0; m < EACH; m++) {
            size_t bytes = length[m / MANY_LANES];
            char *from = rank_take(me, bytes);
            int peer = peers[i];
            got[peer][m] = rank_take(me, bytes);
            rank_write(me, (uint64_t)((me->number * MANY + peer) * EACH + m), from, bytes);
            for (int kind = TRANSFER_SEND; kind <= TRANSFER_RECV; kind++, count++) {
                transfers[count] =
                    transfer_make(me, (enum transfer_kind)kind, &pieces[count],
                                  kind == TRANSFER_SEND ? from : got[peer][m], bytes);
                rank_post(me, peer, m % MANY_LANES, &transfers[count]);
            }
        }
    }
    if (!rank_complete(me, transfers, count))
        return;
    for (int i = 0; i < MANY - 1; i++) {
        for (int m = 0; m < EACH; m++)
            require(me, rank_has(me, (uint64_t)((peers[i] * MANY + me->number) * EACH + m),
                                 got[peers[i]][m], length[m / MANY_LANES]));
    }
}

static void bend_unconnected(struct world *world)
{
    world->unconnected = true;
}

static void test_many_peers(void **state)
{
    run_everywhere(state, many_peers, bend_unconnected, MANY);
}

/* A connect() does not judge by itself how long a peer may take: others may be progressing. A
 * connection that is made counts as progress. */
static enum tick_answer late_tick(void *argument, int peer)
{
    struct rank *me = argument;
    if (peer == TICK_WORKED)
        atomic_fetch_add(&me->world->shared[0], 1);
    return rank_tick(me, peer);
}

static void late_comer(struct rank *me)
{
    int peer = !me->number;
    if (me->number == 0)
        usleep((useconds_t)(3e6 * me->endpoint->config.timeout));
    require(me, rank_connect(me, &peer, 1, 2) == STATUS_OK);
    rank_settle(me);
    rank_try(me, peer);
    pthread_barrier_wait(&me->world->barrier);
    require(me, atomic_load(&me->world->shared[0]) >= 2);
}

static void test_late_comer(void **state)
{
    struct world *world = malloc(sizeof(*world));
    for (int late = 0; late < 2; late++) {
        *world = world_make(*state, 0, 2);
        bend_unconnected(world);
        world->body = late_comer;
        world->config.timeout = 0.2;
        world->tick = late_tick;
        world_run(world);
    }
    free(world);
}

/* If the tick says that the job is late, connect() fails and names the missing peer. If the job has
 * ended, it only fails. */
static enum tick_answer missing_tick(void *argument, int peer)
{
    struct rank *me = argument;
    if (peer == TICK_WORKED)
        return TICK_GO_ON;
    if (peer != !me->number)
        rank_fail(me, __FILE__, __LINE__, "it waits for another");
    bool late = atomic_fetch_add(&me->world->shared[0], 1) > 3;
    return !late ? TICK_GO_ON : me->world->shared[1] ? TICK_ENDED : TICK_LATE;
}

static void no_peer_comes(struct rank *me)
{
    int peer = !me->number;
    char missed[16];
    if (me->number == (int)me->world->shared[2])
        return;
    bool over = me->world->shared[1];
    snprintf(missed, sizeof(missed), "rank %d ", peer);
    require(me, rank_connect(me, &peer, 1, 1) == (over ? STATUS_ERROR : STATUS_TIMEOUT));
    require(me, strstr(me->log.failure.text, over ? "ended" : missed));
    require(me, atomic_load(&me->world->shared[0]) > 4);
}

static void test_no_peer_comes(void **state)
{
    struct world *world = malloc(sizeof(*world));
    for (size_t i = 0; i < 4; i++) {
        *world = world_make(*state, 0, 2);
        bend_unconnected(world);
        world->body = no_peer_comes;
        world->tick = missing_tick;
        world->shared[1] = i / 2;
        world->shared[2] = i % 2;
        world_run(world);
    }
    free(world);
}

/* The ports on which this process listens, in network order. */
enum { PORTS_MOST = 16 };
static int ports_find(in_port_t ports[PORTS_MOST])
{
    int count = 0;
    for (int fd = 3; fd < 200 && count < PORTS_MOST; fd++) {
        struct sockaddr_storage name;
        socklen_t size = sizeof(name);
        int listens = 0;
        socklen_t listens_size = sizeof(listens);
        if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) && listens &&
            !getsockname(fd, (struct sockaddr *)&name, &size) && name.ss_family == AF_INET)
            ports[count++] = ((struct sockaddr_in *)&name)->sin_port;
    }
    return count;
}

/* Has its transport sockets that accept connections before settle()? None that exchanges has. */
static bool listens(const struct rank *me)
{
    const struct transport *transport = me->endpoint->transport;
    return transport->settle && transport->exchanges == 0;
}

static int stranger_connect(in_port_t port, const char *words)
{
    struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&place, sizeof(place)))
        send(fd, words, strlen(words), MSG_NOSIGNAL);
    return fd;
}

/* The ranks connect in time, whatever the other connections do. Then no socket listens. */
static void connect_among(struct rank *me, double most)
{
    int peer = !me->number;
    in_port_t ports[PORTS_MOST];
    double begin = clock_seconds();
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    require(me, clock_seconds() - begin < most);
    rank_settle(me);
    rank_try(me, peer);
    pthread_barrier_wait(&me->world->barrier);
    require(me, ports_find(ports) == 0);
}

/* Connections from outside to every listening socket of this process: one sends nothing, one
 * garbage, one the beginning of a handshake. */
static void among_strangers(struct rank *me)
{
    static const char *const words[] = {
        "", "GET / HTTP/1.0\r\n\r\n and so on, and so on, and so on", "cctest"};
    int fd[3 * PORTS_MOST], count = 0;
    if (me->number == 0) {
        in_port_t ports[PORTS_MOST];
        int doors = ports_find(ports);
        if (listens(me) && doors == 0)
            rank_fail(me, __FILE__, __LINE__, "it listens nowhere, so nothing is tested");
        for (; count < 3 * doors; count++)
            fd[count] = stranger_connect(ports[count / 3], words[count % 3]);
    }
    pthread_barrier_wait(&me->world->barrier);
    connect_among(me, 4);
    while (count > 0)
        close(fd[--count]);
}

static void test_strangers(void **state)
{
    run_everywhere(state, among_strangers, bend_unconnected, 2);
}

/* More connections from outside than this process has descriptors, made before those of the ranks,
 * and kept. They come from another process, which needs many descriptors, too. */
enum { FLOOD = 300, FLOOD_ROOM = 100 };
static pid_t flood_begin(struct rank *me)
{
    in_port_t ports[PORTS_MOST];
    int doors = ports_find(ports), line[2];
    char ready;
    if (doors == 0 || pipe(line))
        return -1;
    pid_t flood = fork();
    if (flood == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(line[0]);
        for (int i = 0; i < FLOOD; i++)
            stranger_connect(ports[i % doors], "");
        if (write(line[1], "r", 1) == 1)
            pause();
        _exit(0);
    }
    close(line[1]);
    if (flood < 0 || read(line[0], &ready, 1) != 1)
        rank_fail(me, __FILE__, __LINE__, "no flood of strangers");
    close(line[0]);
    return flood;
}

static void among_many_strangers(struct rank *me)
{
    struct rlimit before = {0}, few;
    pid_t flood = -1;
    if (me->number == 0) {
        getrlimit(RLIMIT_NOFILE, &before);
        flood = flood_begin(me);
        if (listens(me) && flood < 0)
            rank_fail(me, __FILE__, __LINE__, "it listens nowhere, so nothing is tested");
        few = (struct rlimit){.rlim_cur = FLOOD_ROOM, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
    }
    pthread_barrier_wait(&me->world->barrier);
    connect_among(me, 5);
    if (me->number == 0)
        setrlimit(RLIMIT_NOFILE, &before);
    if (flood > 0) {
        kill(flood, SIGKILL);
        waitpid(flood, NULL, 0);
    }
}

static void test_many_strangers(void **state)
{
    run_everywhere(state, among_many_strangers, bend_unconnected, 2);
}

/* Rank 0 connects slowly, so that rank 1 is ahead: it connects the next lanes while rank 0 still
 * connects the last ones, or it proves itself on all of them at once among many connections from
 * outside. */
enum { CROWDED_LANES = 48 };
static enum tick_answer slow_tick(void *argument, int peer)
{
    struct rank *me = argument;
    if (me->number == 0 && peer != TICK_WORKED)
        usleep(60000);
    return rank_tick(me, peer);
}

static void ahead_of_another(struct rank *me)
{
    int peer = !me->number;
    pid_t flood = -1;
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    require(me, rank_connect(me, &peer, 1, 2) == STATUS_OK);
    pthread_barrier_wait(&me->world->barrier);
    require(me, me->endpoint->rejected == 0);
    if (me->number == 0) {
        usleep(100000);
        flood = flood_begin(me);
    }
    require(me, rank_connect(me, &peer, 1, CROWDED_LANES) == STATUS_OK);
    rank_settle(me);
    rank_try(me, peer);
    if (flood > 0) {
        require(me, me->endpoint->rejected > 0);
        kill(flood, SIGKILL);
        waitpid(flood, NULL, 0);
    }
}

static void bend_slow(struct world *world)
{
    bend_unconnected(world);
    world->tick = slow_tick;
}

static void test_ahead(void **state)
{
    run_everywhere(state, ahead_of_another, bend_slow, 2);
}

static const struct world_test tests[] = {
    {"sizes and paths", test_sizes},
    {"combining", test_combine},
    {"combining, small slots", test_combine_small_slots},
    {"combining in many pieces", test_combine_scattered},
    {"waiting times", test_wait_stats},
    {"many peers", test_many_peers},
    {"a late comer", test_late_comer},
    {"no peer comes", test_no_peer_comes},
    {"strangers", test_strangers},
    {"many strangers", test_many_strangers},
    {"ahead of another", test_ahead},
};

int main(void)
{
    return world_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
