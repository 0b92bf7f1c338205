/*
 * provider.h - a strict and hostile libibverbs and librdmacm in this process, for tests.
 *
 * It defines the ibv_* and rdma_* functions that transports/verbs/library.c forwards in the
 * product, and is linked in its place. Every rank is a thread, with a context of its own. All
 * contexts meet in one fabric: hosts with devices, ports and their tables, and a wire, which is a
 * thread.
 *
 * Hostile: whatever a real NIC may do, it does. Data arrives late, in pieces, and in any order
 * unless the queue pair promises one; completions are withheld, batched, and reordered between
 * queue pairs.
 * Strict: what a real NIC forgives by luck is a violation: one sentence on stderr, then abort().
 *
 * VERBS_STRICT="key=value,key=value...", read once, or provider_configure():
 *
 *   seed=N          of all random choices (1)
 *   order=0|1       WRITEs land in any order (0), or whole messages in order of address (1), which
 *                   ibv_query_qp_data_in_order() promises then (1)
 *   overlap=N       messages of one queue pair that are being placed at the same time (1)
 *   iwarp=0|1|2     iWARP: no immediate data, completion before delivery, negative errno, a bad
 *                   rkey kills the receiver; queue pairs are connected by librdmacm (1), or as
 *                   here (2)
 *   hosts=N         threads that open a device are dealt to N hosts, in turn (1)
 *   devices=N       of each host: strict0, strict1, ... (1)
 *   ports=N         of each device (1)
 *   subnets=N       device d lies in subnet d mod N; subnets do not meet (1)
 *   link=ib|roce    (roce)
 *   mtu=N           active MTU in bytes (1024)
 *   down=D          device D's ports are down
 *   delay=US        a message starts at most so late (30)
 *   hold=US         a completion is withheld at most so long (20)
 *   sges=N inline=N sends=N receives=N entries=N
 *                   limits: scatter/gather entries (6), inline bytes (256), requests of a queue
 *                   pair (4096), of a shared receive queue (32768), entries of a completion queue
 *                   (65536)
 *   excess=0|1|2
 *                   more inline bytes are refused (0), that without setting errno (1), or fewer
 *                   are given (2)
 *   srqs=0|1        there are shared receive queues (1)
 *   stall=MS        to register memory takes so long (0)
 *   destroy=MS      to destroy a queue, a queue pair, a connection, a domain or a context, or to
 *                   deregister memory, takes so long (0)
 *   memlock=KIB     that each context may register (0: no limit)
 *   patience=MS     retries end after this; 0: as timeout and retry count of the queue pair say (0)
 *   rnr=allow|fail  a message that finds no receive is retried, or is a violation (allow)
 *   told=0|1        the other end of a request that fails remotely gets an event, and its queue
 *                   pair fails; the sender of a message whose receive fails gets an error (1)
 *   late=US         so long after its port has died, port_dies sends the event (20000)
 *   sl=N tclass=N   ibv_modify_qp() takes no address of another service level or traffic class
 *   dmabuf=0|1      the driver imports dmabufs (1)
 *   peermem=0|1     a peer memory module is loaded: device memory can be registered by address (0)
 *   flush=0|1       messages in device memory are not seen there before provider_flush() (0)
 *   recheck=0|1     a source must stay as it is until its completion is polled, not just until
 *                   delivery (1)
 *   violations=abort|status
 *                   after its sentence a violation aborts, or does as hardware does (abort)
 *   report=0|1      at exit prints what was counted (0)
 *   fail=KIND:N+KIND:N...
 *                   the N-th request (counted over all, from 1) completes with an error: loc_len
 *                   loc_qp_op loc_prot mw_bind bad_resp loc_access rem_inv_req rem_access rem_op
 *                   retry rnr rem_abort fatal resp_timeout general; the N-th message that takes a
 *                   receive ends it with recv_loc_len recv_loc_prot recv_loc_qp_op; the N-th call
 *                   fails: open alloc_pd reg_mr create_cq create_srq create_qp (ENOMEM),
 *                   query_port (EIO), modify_einval, modify_etimedout, post_send, post_recv,
 *                   poll_cq, connect, resolve; at the N-th request there is an event: event_fatal
 *                   event_port_err event_port_active event_gid event_pkey event_lid
 *                   event_qp_fatal event_qp_req event_qp_access event_cq event_srq; at the N-th
 *                   request the port loses the address that the queue pair uses, with an event:
 *                   gid_gone pkey_gone lid_changed; from the N-th request on its port delivers
 *                   nothing: cut; the N-th request fails with loc_qp_op because its port goes
 *                   down, which an event tells later: port_dies
 */
#ifndef CCTEST_TEST_VERBS_PROVIDER_H
#define CCTEST_TEST_VERBS_PROVIDER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROVIDER_GIDS_MOST  8
#define PROVIDER_PKEYS_MOST 8

/* A port as its queries show it. A test may change it before the devices are opened. */
struct provider_port {
    struct ibv_port_attr attr; /* gid_tbl_len and pkey_tbl_len count the tables below */
    struct ibv_gid_entry gids[PROVIDER_GIDS_MOST];
    uint16_t pkeys[PROVIDER_PKEYS_MOST]; /* in host order */
    int subnet;                          /* ports of other subnets are not reached */
    bool cut;                            /* delivers nothing, and says nothing */
};

struct provider_counts {
    uint64_t requests, delivered, pieces, bytes; /* of all sends */
    uint64_t completions, rnr, violations;
    uint64_t contexts, pairs, regions, pinned; /* made so far; pinned in bytes; pairs in INIT */
    uint64_t struck;                           /* when the first fault did, by CLOCK_MONOTONIC in
                                                  ns; 0: none has */
    uint64_t connected;                        /* contexts that made queue pairs, */
    uint64_t pairs_least, pairs_most;          /* and how many each */
};

/* Starts a new fabric. None may be in use. NULL: as VERBS_STRICT says. */
void provider_configure(const char *text);

/* The host whose devices the calling thread opens from now on. */
void provider_host(int host);

/* Ports are counted from 1, as verbs does. */
struct provider_port *provider_port(int host, int device, int port);

/* Sends an event of a device or port to each of its contexts. */
void provider_event(int host, int device, int port, enum ibv_event_type type);
/* Sets a port's state, and sends the event. */
void provider_port_state(int host, int device, int port, enum ibv_port_state state);
/* A port that is cut delivers nothing more, either way, and sends no event. */
void provider_cut(int host, int device, int port, bool cut);

/* Device memory lies at [base, base + bytes), where no CPU reads it, and in a file from `offset`
 * on; a peer memory module knows that. File -1: it is gone. */
void provider_device_memory(void *base, size_t bytes, int file, uint64_t offset);
/* The messages that have been delivered there are seen. */
void provider_flush(const void *base, size_t bytes);

struct provider_counts provider_counts(void);

/* How many queues, queue pairs, connections, regions, domains and contexts the calling thread has
 * destroyed. */
unsigned provider_destroyed(void);

/* A violation if anything is open. Called at exit(0), too. */
void provider_check(void);

/* The functions that transports/verbs/library.c defines in the product. */
const char *verbs_library_load(void);
const char *verbs_library_load_cm(void);
/* The function that transports/verbs/peermem.c defines there. */
const char *peermem_module(const char *sysfs);

#endif
