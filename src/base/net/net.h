/*
 * net.h - the interface of base/net/.
 */
#ifndef CCTEST_BASE_NET_NET_H
#define CCTEST_BASE_NET_NET_H

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/status.h"

/* ---- The addresses at which a rank listens, and the order in which a peer tries them. ---- */

#define ADDRESSES_MOST 16

struct address {
    sa_family_t family;      /* AF_INET or AF_INET6 */
    unsigned char prefix;    /* bits that all hosts of its network have in common */
    in_port_t port;          /* in network order */
    unsigned char bytes[16]; /* the first 4 of them for AF_INET */
    uint32_t scope;          /* a link-local IPv6 address's device on this host; else 0 */
};

struct address_list {
    uint64_t host; /* equal for ranks that share a loopback device (a hash) */
    int count;
    struct address list[ADDRESSES_MOST];
};

struct listeners {
    int fd[ADDRESSES_MOST]; /* non-blocking */
    int count;
};

/* Listens on `interface` (a device, or an address of one; NULL: all, or with `loopback` loopback
 * alone), at ports that the kernel chooses. Lists the addresses. After an error nothing is open. */
enum status addresses_listen(const char *interface, bool loopback, struct listeners *listeners,
                             struct address_list *list);
void listeners_close(struct listeners *listeners);

/* Opens a non-blocking listening socket and sets the port in `address` (0: the kernel chooses
 * one). An IPv6 socket also accepts IPv4 if `both_families`. Returns -1 with errno. */
int listen_at(struct address *address, bool both_families);
/* The same for all addresses of this host, at the port of `anywhere`; sets the family: AF_INET6
 * accepts IPv4, too. */
int listen_anywhere(struct address *anywhere);

/* Lists the addresses of this host, or of `interface` if not NULL, without listening. */
enum status addresses_find(const char *interface, struct address_list *list);
/* STATUS_USAGE if this host has no `interface`. NULL is allowed. */
enum status interface_check(const char *interface);

/* Listens at each address of the list, at its port (0: the kernel chooses one), and removes
 * addresses at which that fails. False with errno, and nothing open, if none is left or a port
 * is taken. */
bool listeners_open(struct address_list *list, struct listeners *listeners);

/* To and from the form in which ranks exchange it; addresses_decode() returns false for invalid
 * bytes. */
#define ADDRESSES_BLOB_MOST (8 + 20 * ADDRESSES_MOST)
size_t addresses_encode(const struct address_list *list, void *blob);
bool addresses_decode(const void *blob, size_t size, struct address_list *list);

/* Sorts the addresses of `there` that may be reachable from `here`, the likeliest first; returns
 * their number. */
int addresses_routes(const struct address_list *here, const struct address_list *there,
                     struct address routes[ADDRESSES_MOST]);

/* Converts for connect() and bind(); returns the size. */
socklen_t address_socket(const struct address *address, struct sockaddr_storage *socket_address);
/* Converts back; false: another family. */
bool address_of(const struct sockaddr *socket_address, struct address *address);

#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 12)
/* "10.0.0.7 port 4711" */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT]);
/* Compares all but the ports. */
bool address_same(const struct address *a, const struct address *b);
bool address_is_loopback(const struct address *address);
/* "10.0.0.7 port 4711: Connection refused; ...": the outcome of each attempt (NULL: not tried).
 * Cut off at `size`. */
const char *routes_text(const struct address *routes, const char *const *outcomes, int count,
                        char *text, size_t size);

/* ---- Authenticated encryption of the messages of one connection, with a counter as nonce.
 *
 * Each direction of each connection has a key of its own, which the handshake gives, and counts its
 * messages: a message that was changed, repeated, left out or moved does not open. So a process
 * that relayed the handshake cannot speak afterwards.
 * ---- */

#define AEAD_KEY_BYTES 32
#define AEAD_TAG_BYTES 16 /* behind an encrypted message */

/* The key of one direction. */
struct aead_key {
    unsigned char key[AEAD_KEY_BYTES];
    uint64_t count; /* messages so far */
};

/* The keys of one end. */
struct aead_keys {
    struct aead_key out, in;
};

/* Enciphers `size` bytes in place and writes AEAD_TAG_BYTES behind them. */
void aead_encrypt(struct aead_key *key, unsigned char *message, size_t size);
/* Deciphers in place; false: this is not the other end's next message. */
bool aead_decrypt(struct aead_key *key, unsigned char *message, size_t size);

/* ---- Two ends of a socket prove to each other that they know the job's secret.
 *
 * Each end sends a fresh nonce. Then the connecting end sends its hello and its proof: a keyed hash
 * over both nonces, the hellos so far, the purpose and its role. The accepting end checks it before
 * it sends its own. So the secret is never sent, nothing can be replayed or reflected, and the
 * hellos are authentic and encrypted. A process that connects without the secret gets nothing that
 * depends on it. A process to which a rank connects, or that listens in between, gets a proof,
 * against which it can try guesses.
 *
 * Non-blocking: a listener can have many handshakes under way. A process that sends garbage, or
 * nothing, costs one file descriptor until it is dropped.
 * ---- */

#define SECRET_BYTES 32

#define HANDSHAKE_HELLO_MOST 1536

struct handshake;

enum handshake_state {
    HANDSHAKE_PENDING, /* call handshake_step() again when poll() reports handshake_events() */
    HANDSHAKE_DONE,    /* the peer has proved itself; the socket is yours */
    HANDSHAKE_REFUSED, /* not a rank of this job, or gone; close the socket */
};

/* `fd`: a connected (or connecting) non-blocking socket; stays the caller's. `purpose` separates
 * kinds of connections ("control", "data"). NULL: no random numbers. */
struct handshake *handshake_create(int fd, bool accepting, const unsigned char *secret,
                                   const char *purpose, const void *hello, size_t hello_size);
enum handshake_state handshake_step(struct handshake *handshake);
short handshake_events(const struct handshake *handshake); /* POLLIN or POLLOUT */
/* The peer's hello, once DONE. */
const void *handshake_hello(const struct handshake *handshake, size_t *size);
/* The keys of the connection, once DONE. The proof does not exclude a process in between, so
 * bytes that are not encrypted (the tcp transport's data) may have been changed. */
const struct aead_keys *handshake_keys(const struct handshake *handshake);
/* Why it was refused, for a human: "did not speak cctest", "does not know this job's secret",
 * "closed the connection", "is another version of cctest's protocol". */
const char *handshake_reason(const struct handshake *handshake);
/* Was it refused only because the connection ended? Then another attempt may succeed. */
bool handshake_lost(const struct handshake *handshake);
/* Was it refused because the other end is no cctest? Then another address may lead to one. */
bool handshake_foreign(const struct handshake *handshake);
void handshake_free(struct handshake *handshake); /* NULL is allowed */

/* ---- Accepts connections and authenticates them, without blocking.
 *
 * Any process can connect. Each pending connection has a few seconds to prove that it knows the
 * secret. When the table or the descriptors are full, the oldest pending connection is dropped,
 * unless it is younger than YIELD_SECONDS. New ones then wait in the backlog.
 * ---- */

/* Takes the socket of an authenticated connection and returns NULL; or returns why the
 * connection is to be dropped, in the past tense ("sent an invalid request"). The handshake
 * stays the acceptor's. */
typedef const char *acceptor_admit(void *argument, int fd, const struct handshake *handshake);

struct acceptor {
    struct listeners *listeners; /* stay the owner's */
    const unsigned char *secret;
    const char *purpose; /* as in handshake_create() */
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    double seconds; /* that a connection may be pending */
    int most;       /* pending connections at a time; 0: accepts no more */
    int spare;      /* a descriptor to close when none are left, for one last connection; or -1 */
    acceptor_admit *admit;
    void *argument;
    _Atomic uint64_t *rejected; /* counts dropped connections */

    struct pending *pending; /* the oldest first */
    int count;
    bool exhausted; /* a connection found no descriptor, and none was pending to be dropped */
    double pause_until;
    char last_rejected[160]; /* the last one dropped, for the user; "": none */
};

/* The fields above `pending` are set; `most` may be lowered later. May be called again after a
 * pause, with `most` at least `count`: the time of pending connections begins anew. `now`:
 * seconds of a clock, the same in all calls. */
void acceptor_open(struct acceptor *acceptor, double now);

/* Fills `set` for poll(), one entry for each listener and pending connection; returns their
 * number. */
int acceptor_watch(const struct acceptor *acceptor, struct pollfd *set, double now);

/* After poll(): accepts connections and goes on with their handshakes. */
void acceptor_serve(struct acceptor *acceptor, const struct pollfd *set, double now);

/* Drops the oldest pending connection; false: there is none. */
bool acceptor_drop_oldest(struct acceptor *acceptor, const char *why);

/* Drops all pending connections, uncounted. Allowed more than once, also in acceptor_admit. */
void acceptor_close(struct acceptor *acceptor);

/* ---- acceptor.c ---- */

enum connector_state {
    CALL_NONE,
    CALL_PENDING,
    CALL_DONE,     /* the owner takes `fd` and `keys`, then connector_taken() */
    CALL_FAILED,   /* none of the addresses led there */
    CALL_HOPELESS, /* and what listens there is not of this job */
};

struct connector {
    /* Set by the owner before connector_begin(). */
    const unsigned char *secret;
    const char *purpose; /* as in handshake_create() */
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    int rank; /* that is called */
    /* Does its hello come from that rank? Private addresses are not unique. */
    bool (*is_right)(int rank, const void *hello, size_t size);

    enum connector_state state;
    struct address routes[ADDRESSES_MOST];
    const char **outcomes; /* of each */
    int count, next;
    int refused;           /* addresses at which no process listened */
    int foreign;           /* at which another program does, */
    bool wrong;            /* or one that does not know the secret: */
    const char *rejection; /* what the last of these did; NULL: there was none */
    double seconds;        /* for one address */
    double until;          /* the present one's end */
    int fd;
    struct aead_keys keys;       /* of the connection, once DONE */
    struct handshake *handshake; /* NULL: it does not answer yet */
};

/* Begins to call the rank at `routes`, one after the other, `seconds` for each; sets the outcome of
 * each in `outcomes`, which stay the caller's, to a static text. `now`: seconds of a clock, the
 * same in all calls. */
void connector_begin(struct connector *call, const struct address *routes, const char **outcomes,
                     int count, double seconds, double now);
/* The socket and events that poll() is to wait for; fd -1: nothing. */
struct pollfd connector_watch(const struct connector *call);
/* After poll(); returns the new state. */
enum connector_state connector_step(struct connector *call, short events, double now);
/* The owner has taken the socket; the state is NONE again. */
void connector_taken(struct connector *call);
void connector_drop(struct connector *call);

/* ---- How rank 0 listens at HOST:PORT, and how the other ranks find it there.
 *
 * Every way to fail has its own sentence, since here a user's command line meets the network.
 * ---- */

/* Rank 0: listens at `port`, or at the first of the `spare` ports after it that is free. On
 * `interface`, if not NULL; else on `host`, if that is an address or "localhost"; else on all
 * addresses of this host, IPv4 and IPv6. */
enum status rendezvous_listen(const char *interface, const char *host, int port, int spare,
                              struct listeners *listeners);

/* Rank 0, which listens at `listener`: warns if `host` is unknown here or does not lead to this
 * host. The other hosts may know better. Fails only for a signal. */
enum status rendezvous_warn(const char *interface, const char *host, int port, int listener);

/* STATUS_USAGE if `host`, to which the ranks connect, is at loopback, and `interface`, on which
 * rank 0 listens, is not. `interface` may be NULL. */
enum status rendezvous_check_interface(const char *interface, const char *host);

/* Resolves `host` to at most ADDRESSES_MOST addresses. Waits for a name server for `seconds` at
 * most, or until a signal comes that ends the job; `late`: so long also for the name, which no
 * server may know yet. With an `interface` (else NULL), rank 0 does
 * not listen at loopback, where many hosts have their own name: addresses of this host's
 * `interface` replace addresses at loopback. */
enum status rendezvous_resolve(const char *interface, const char *host, int port, double seconds,
                               bool late, struct address routes[ADDRESSES_MOST], int *count);

/* ---- address.c ---- */

/* Begins to connect; returns the socket, or -1 with errno. `segment`: the most bytes of a packet's
 * data in both directions; 0: what the route allows. */
int socket_connect(const struct address *address, int segment);

/* The result of a connect that poll() reported: 0 or an errno. */
int socket_connect_result(int fd);

/* Small messages leave at once. */
void socket_set_prompt(int fd);

/* Do both ends have the same address? Then no byte leaves the host. */
bool socket_stays_here(int fd);

#endif
