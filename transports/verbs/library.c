/*
 * library.c - libibverbs and librdmacm, loaded at run time.
 *
 * Each function asks for the version of the symbol that <infiniband/verbs.h> describes: the
 * library keeps an older ABI under the same names (IBVERBS_1.0). Calls of the data path
 * (ibv_post_send(), ibv_poll_cq()) are inline in the header and go through the context to the
 * provider, so they cost no forwarding.
 */
#include "transports/verbs/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#pragma GCC visibility push(hidden)
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#pragma GCC visibility pop

#undef ibv_query_port
#undef ibv_reg_mr

/* name(result, function, version, parameters, arguments). REQUIRED ones are in every libibverbs of
 * the last ten years; of OPTIONAL ones each has its own answer where it is missing. */
#define VERBS_REQUIRED(F)                                                                          \
    F(struct ibv_device **, ibv_get_device_list, "IBVERBS_1.1", (int *count), (count))             \
    F(const char *, ibv_get_device_name, "IBVERBS_1.1", (struct ibv_device * device), (device))    \
    F(struct ibv_context *, ibv_open_device, "IBVERBS_1.1", (struct ibv_device * device),          \
      (device))                                                                                    \
    F(int, ibv_close_device, "IBVERBS_1.1", (struct ibv_context * context), (context))             \
    F(int, ibv_query_device, "IBVERBS_1.1",                                                        \
      (struct ibv_context * context, struct ibv_device_attr * attr), (context, attr))              \
    F(int, ibv_query_port, "IBVERBS_1.1",                                                          \
      (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr * attr),           \
      (context, port, attr))                                                                       \
    F(int, ibv_query_gid, "IBVERBS_1.1",                                                           \
      (struct ibv_context * context, uint8_t port, int index, union ibv_gid *gid),                 \
      (context, port, index, gid))                                                                 \
    F(int, ibv_query_pkey, "IBVERBS_1.1",                                                          \
      (struct ibv_context * context, uint8_t port, int index, __be16 *pkey),                       \
      (context, port, index, pkey))                                                                \
    F(struct ibv_pd *, ibv_alloc_pd, "IBVERBS_1.1", (struct ibv_context * context), (context))     \
    F(int, ibv_dealloc_pd, "IBVERBS_1.1", (struct ibv_pd * pd), (pd))                              \
    F(struct ibv_mr *, ibv_reg_mr, "IBVERBS_1.1",                                                  \
      (struct ibv_pd * pd, void *address, size_t length, int access),                              \
      (pd, address, length, access))                                                               \
    F(int, ibv_dereg_mr, "IBVERBS_1.1", (struct ibv_mr * mr), (mr))                                \
    F(struct ibv_cq *, ibv_create_cq, "IBVERBS_1.1",                                               \
      (struct ibv_context * context, int entries, void *user, struct ibv_comp_channel *channel,    \
       int vector),                                                                                \
      (context, entries, user, channel, vector))                                                   \
    F(int, ibv_destroy_cq, "IBVERBS_1.1", (struct ibv_cq * cq), (cq))                              \
    F(struct ibv_srq *, ibv_create_srq, "IBVERBS_1.1",                                             \
      (struct ibv_pd * pd, struct ibv_srq_init_attr * attr), (pd, attr))                           \
    F(int, ibv_destroy_srq, "IBVERBS_1.1", (struct ibv_srq * srq), (srq))                          \
    F(struct ibv_qp *, ibv_create_qp, "IBVERBS_1.1",                                               \
      (struct ibv_pd * pd, struct ibv_qp_init_attr * attr), (pd, attr))                            \
    F(int, ibv_modify_qp, "IBVERBS_1.1",                                                           \
      (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask), (qp, attr, mask))                 \
    F(int, ibv_destroy_qp, "IBVERBS_1.1", (struct ibv_qp * qp), (qp))                              \
    F(int, ibv_get_async_event, "IBVERBS_1.1",                                                     \
      (struct ibv_context * context, struct ibv_async_event * event), (context, event))            \
    F(const char *, ibv_wc_status_str, "IBVERBS_1.1", (enum ibv_wc_status status), (status))       \
    F(const char *, ibv_event_type_str, "IBVERBS_1.1", (enum ibv_event_type type), (type))

#define CM_REQUIRED(F)                                                                             \
    F(struct rdma_event_channel *, rdma_create_event_channel, "RDMACM_1.0", (void), ())            \
    F(int, rdma_create_id, "RDMACM_1.0",                                                           \
      (struct rdma_event_channel * channel, struct rdma_cm_id * *id, void *context,                \
       enum rdma_port_space space),                                                                \
      (channel, id, context, space))                                                               \
    F(int, rdma_destroy_id, "RDMACM_1.0", (struct rdma_cm_id * id), (id))                          \
    F(int, rdma_bind_addr, "RDMACM_1.0", (struct rdma_cm_id * id, struct sockaddr * address),      \
      (id, address))                                                                               \
    F(int, rdma_listen, "RDMACM_1.0", (struct rdma_cm_id * id, int backlog), (id, backlog))        \
    F(__be16, rdma_get_src_port, "RDMACM_1.0", (struct rdma_cm_id * id), (id))                     \
    F(int, rdma_resolve_addr, "RDMACM_1.0",                                                        \
      (struct rdma_cm_id * id, struct sockaddr * from, struct sockaddr * to, int milliseconds),    \
      (id, from, to, milliseconds))                                                                \
    F(int, rdma_resolve_route, "RDMACM_1.0", (struct rdma_cm_id * id, int milliseconds),           \
      (id, milliseconds))                                                                          \
    F(int, rdma_connect, "RDMACM_1.0",                                                             \
      (struct rdma_cm_id * id, struct rdma_conn_param * parameters), (id, parameters))             \
    F(int, rdma_accept, "RDMACM_1.0",                                                              \
      (struct rdma_cm_id * id, struct rdma_conn_param * parameters), (id, parameters))             \
    F(int, rdma_reject, "RDMACM_1.0", (struct rdma_cm_id * id, const void *data, uint8_t size),    \
      (id, data, size))                                                                            \
    F(int, rdma_establish, "RDMACM_1.2", (struct rdma_cm_id * id), (id))                           \
    F(int, rdma_init_qp_attr, "RDMACM_1.2",                                                        \
      (struct rdma_cm_id * id, struct ibv_qp_attr * attr, int *mask), (id, attr, mask))            \
    F(int, rdma_get_cm_event, "RDMACM_1.0",                                                        \
      (struct rdma_event_channel * channel, struct rdma_cm_event * *event), (channel, event))      \
    F(int, rdma_ack_cm_event, "RDMACM_1.0", (struct rdma_cm_event * event), (event))               \
    F(const char *, rdma_event_str, "RDMACM_1.0", (enum rdma_cm_event_type type), (type))

/* The loaded symbols, written once, before the first of these functions is called. */
#define MEMBER(result, function, version, parameters, arguments) __typeof__(function) *function;
static struct {
    VERBS_REQUIRED(MEMBER)
    CM_REQUIRED(MEMBER)
    void (*ibv_free_device_list)(struct ibv_device **list);
    void (*ibv_ack_async_event)(struct ibv_async_event *event);
    void (*rdma_destroy_event_channel)(struct rdma_event_channel *channel);
    /* Optional: */
    __typeof__(ibv_reg_mr_iova2) *ibv_reg_mr_iova2;
    __typeof__(ibv_reg_dmabuf_mr) *ibv_reg_dmabuf_mr;
    __typeof__(_ibv_query_gid_table) *_ibv_query_gid_table;
    __typeof__(ibv_query_qp_data_in_order) *ibv_query_qp_data_in_order;
} library;

#define FORWARD(result, function, version, parameters, arguments)                                  \
    result function parameters                                                                     \
    {                                                                                              \
        return library.function arguments;                                                         \
    }
VERBS_REQUIRED(FORWARD)
CM_REQUIRED(FORWARD)

void ibv_free_device_list(struct ibv_device **list)
{
    library.ibv_free_device_list(list);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    library.ibv_ack_async_event(event);
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
    library.rdma_destroy_event_channel(channel);
}

/* Before rdma-core 28 no access flag is optional, and relaxed ordering is not known. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned int access)
{
    if (library.ibv_reg_mr_iova2)
        return library.ibv_reg_mr_iova2(pd, address, length, iova, access);
    return library.ibv_reg_mr(pd, address, length, (int)(access & ~IBV_ACCESS_OPTIONAL_RANGE));
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    if (library.ibv_reg_dmabuf_mr)
        return library.ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
    errno = EOPNOTSUPP;
    return NULL;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t most, uint32_t flags, size_t size)
{
    return library._ibv_query_gid_table
               ? library._ibv_query_gid_table(context, entries, most, flags, size)
               : -EOPNOTSUPP;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
    return library.ibv_query_qp_data_in_order
               ? library.ibv_query_qp_data_in_order(qp, opcode, flags)
               : 0;
}

struct symbol {
    const char *name, *version;
    void **where;
    bool optional;
};

/* Loads the symbols of `file`. `why` gets the reason if that fails. */
static void symbols_load(const char *file, const char *packages, const struct symbol *symbols,
                         size_t count, char *why, size_t size)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    bool good = handle != NULL;
    for (size_t i = 0; good && i < count; i++) {
        *symbols[i].where = dlvsym(handle, symbols[i].name, symbols[i].version);
        good = *symbols[i].where || symbols[i].optional;
    }
    if (!good)
        snprintf(why, size, "%s cannot be loaded (%.160s): install it (%s)", file, dlerror(),
                 packages);
}

#define SYMBOL(result, function, version, parameters, arguments)                                   \
    {#function, version, (void **)&library.function, false},

static char verbs_why[320], cm_why[320];

static void verbs_load(void)
{
    const struct symbol symbols[] = {
        VERBS_REQUIRED(SYMBOL){"ibv_free_device_list", "IBVERBS_1.1",
                               (void **)&library.ibv_free_device_list, false},
        {"ibv_ack_async_event", "IBVERBS_1.1", (void **)&library.ibv_ack_async_event, false},
        {"ibv_reg_mr_iova2", "IBVERBS_1.8", (void **)&library.ibv_reg_mr_iova2, true},
        {"ibv_reg_dmabuf_mr", "IBVERBS_1.12", (void **)&library.ibv_reg_dmabuf_mr, true},
        {"_ibv_query_gid_table", "IBVERBS_1.11", (void **)&library._ibv_query_gid_table, true},
        {"ibv_query_qp_data_in_order", "IBVERBS_1.14", (void **)&library.ibv_query_qp_data_in_order,
         true},
    };
    symbols_load("libibverbs.so.1", "Debian: libibverbs1 and ibverbs-providers; RHEL: libibverbs",
                 symbols, sizeof symbols / sizeof *symbols, verbs_why, sizeof verbs_why);
}

static void cm_load(void)
{
    const struct symbol symbols[] = {
        CM_REQUIRED(SYMBOL){"rdma_destroy_event_channel", "RDMACM_1.0",
                            (void **)&library.rdma_destroy_event_channel, false},
    };
    symbols_load("librdmacm.so.1", "Debian: librdmacm1; RHEL: librdmacm", symbols,
                 sizeof symbols / sizeof *symbols, cm_why, sizeof cm_why);
}

const char *verbs_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, verbs_load);
    return verbs_why[0] ? verbs_why : NULL;
}

const char *verbs_library_load_cm(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *why = verbs_library_load();
    if (why)
        return why;
    pthread_once(&once, cm_load);
    return cm_why[0] ? cm_why : NULL;
}
