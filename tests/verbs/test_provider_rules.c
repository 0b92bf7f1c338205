/*
 * test_provider_rules.c - rules of the provider about requests, receives and their memory.
 * tier: deep; load: cpu1
 */
#include <errno.h>

#include "rules.h"

static struct end *ends;

static void write_with(uint32_t lkey, uint64_t remote, uint32_t rkey, uint32_t bytes)
{
    struct ibv_sge sge = {(uintptr_t)ends[0].memory, bytes, lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey = rkey;
    ibv_post_send(ends[0].qp, &wr, &bad);
    end_poll(&ends[0]);
}

static void lkey_unknown(void)
{
    ends = ends_open("");
    write_with(0x123400, (uintptr_t)ends[1].memory, ends[1].mr->rkey, 8);
}

static void lkey_is_rkey(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->rkey, (uintptr_t)ends[1].memory, ends[1].mr->rkey, 8);
}

static void lkey_of_other_domain(void)
{
    ends = ends_open("");
    struct ibv_pd *pd = ibv_alloc_pd(ends[0].context);
    struct ibv_mr *mr = ibv_reg_mr(pd, ends[0].memory, 64, IBV_ACCESS_LOCAL_WRITE);
    write_with(mr->lkey, (uintptr_t)ends[1].memory, ends[1].mr->rkey, 8);
}

static void source_beyond(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, ends[1].mr->rkey, END_BYTES + 1);
}

static void rkey_unknown(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, 0x123400, 8);
}

static void rkey_is_lkey(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, ends[1].mr->lkey, 8);
}

static void target_beyond(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory + 8, ends[1].mr->rkey, END_BYTES);
}

static void target_before(void)
{
    ends = ends_open("");
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory - 8, ends[1].mr->rkey, 16);
}

static void target_not_writable(void)
{
    ends = ends_open("");
    struct ibv_mr *mr = ibv_reg_mr(ends[1].pd, ends[1].memory, 64, IBV_ACCESS_LOCAL_WRITE);
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, mr->rkey, 8);
}

static void target_of_other_domain(void)
{
    ends = ends_open("");
    struct ibv_pd *pd = ibv_alloc_pd(ends[1].context);
    struct ibv_mr *mr =
        ibv_reg_mr(pd, ends[1].memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, mr->rkey, 8);
}

static void target_deregistered(void)
{
    ends = ends_open("");
    uint32_t key = ends[1].mr->rkey;
    ibv_dereg_mr(ends[1].mr);
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, key, 8);
}

/* Opens two connected ends, whose attributes are bent at each step. */
static void ends_open_bent(void (*bend)(struct ibv_qp_attr *, int end))
{
    static struct end two[2];
    provider_configure("");
    ends = two;
    for (int i = 0; i < 2; i++)
        end_open(&two[i], 0);
    for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
        for (int i = 0; i < 2; i++) {
            struct ibv_qp_attr attr = end_attr(&two[i], two[!i].qp->qp_num, &two[!i]);
            bend(&attr, i);
            end_modify(two[i].qp, attr, (enum ibv_qp_state)state);
        }
    }
}

static void bar_writes(struct ibv_qp_attr *attr, int end)
{
    (void)end;
    attr->qp_access_flags = 0;
}

static void bar_reads(struct ibv_qp_attr *attr, int end)
{
    (void)end;
    attr->max_rd_atomic = 0;
}

static void pair_not_writable(void)
{
    ends_open_bent(bar_writes);
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, ends[1].mr->rkey, 8);
}

static void source_changed_before_delivery(void)
{
    ends = ends_open("");
    provider_cut(0, 0, 1, true);
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED, 1);
    ends[0].memory[63]++;
    provider_cut(0, 0, 1, false);
    end_poll(&ends[0]);
}

static void source_changed_before_poll(void)
{
    ends = ends_open("");
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED, 1);
    while (provider_counts().delivered == 0) {
    }
    ends[0].memory[0]++;
    end_poll(&ends[0]);
}

static void source_deregistered(void)
{
    ends = ends_open("");
    provider_cut(0, 0, 1, true);
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED, 1);
    ibv_dereg_mr(ends[0].mr);
}

static void inline_too_long(void)
{
    ends = ends_open("");
    end_post(ends, IBV_WR_RDMA_WRITE, 0, END_INLINE + 1, IBV_SEND_INLINE, 1);
}

static void too_many_entries(void)
{
    ends = ends_open("");
    struct ibv_sge sges[4] = {{0}};
    struct ibv_send_wr wr = {.sg_list = sges, .num_sge = 4, .opcode = IBV_WR_RDMA_WRITE}, *bad;
    ibv_post_send(ends[0].qp, &wr, &bad);
}

/* Posts this request, which breaks a rule by itself. */
static void post(struct ibv_send_wr wr)
{
    struct ibv_send_wr *bad;
    ibv_post_send(ends[0].qp, &wr, &bad);
}

static void flags_unknown(void)
{
    ends = ends_open("");
    post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .send_flags = 1 << 20});
}

static void operation_unknown(void)
{
    ends = ends_open("");
    post((struct ibv_send_wr){.opcode = IBV_WR_BIND_MW});
}

static void read_inline(void)
{
    ends = ends_open("");
    post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_INLINE});
}

static void read_refused(void)
{
    ends_open_bent(bar_reads);
    post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_READ});
}

static void message_too_long(void)
{
    ends = ends_open("");
    struct ibv_sge sges[3] = {{.length = UINT32_MAX}, {.length = UINT32_MAX}};
    post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .sg_list = sges, .num_sge = 3});
}

/* iWARP: it has not left yet, because the one before it has not arrived. */
static void source_changed_before_sent(void)
{
    ends = ends_open("iwarp=2,patience=20000");
    provider_cut(0, 0, 1, true);
    for (uint64_t i = 0; i < 2; i++)
        end_post(ends, IBV_WR_RDMA_WRITE, 64 * i, 64, IBV_SEND_SIGNALED, i);
    ends[0].memory[100]++;
    provider_cut(0, 0, 1, false);
    for (;;)
        end_poll(&ends[0]);
}

static void sends_before_ready(void)
{
    provider_configure("");
    static struct end two[2];
    end_open(&two[0], 0);
    end_open(&two[1], 0);
    end_post(two, IBV_WR_RDMA_WRITE, 0, 8, 0, 1);
}

static void modified_without_all(void)
{
    provider_configure("");
    static struct end one;
    end_open(&one, 0);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    ibv_modify_qp(one.qp, &attr, IBV_QP_STATE);
}

static void modified_out_of_turn(void)
{
    provider_configure("");
    static struct end one;
    end_open(&one, 0);
    end_modify(one.qp, end_attr(&one, 1, &one), IBV_QPS_RTS);
}

static void overruns(void)
{
    ends = ends_open("hold=0,delay=0");
    for (int i = 0; i < 4 * END_DEPTH + 1; i++) { /* receives, as sends have room for fewer */
        end_receive(&ends[1], 0, 0, 1);
        end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, IBV_SEND_SIGNALED, 1);
        end_poll(&ends[0]);
    }
}

static void no_receive(void)
{
    ends = ends_open("rnr=fail");
    end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, IBV_SEND_SIGNALED, 1);
    end_poll(&ends[0]);
}

static void receive_too_short(void)
{
    ends = ends_open("");
    end_receive(&ends[1], 0, 32, 1);
    end_post(ends, IBV_WR_SEND, 0, 64, IBV_SEND_SIGNALED, 1);
    end_poll(&ends[0]);
}

static void receive_out_of_bounds(void)
{
    ends = ends_open("");
    end_receive(&ends[1], END_BYTES - 8, 16, 1);
}

static void mtu_of_end(struct ibv_qp_attr *attr, int end)
{
    attr->path_mtu = end ? IBV_MTU_1024 : IBV_MTU_512;
}

static void mtus_differ(void)
{
    ends_open_bent(mtu_of_end);
    write_with(ends[0].mr->lkey, (uintptr_t)ends[1].memory, ends[1].mr->rkey, 8);
}

static void domain_in_use(void)
{
    ends = ends_open("");
    ibv_dealloc_pd(ends[0].pd);
}

static void queue_in_use(void)
{
    ends = ends_open("");
    ibv_destroy_cq(ends[0].cq);
}

static void receives_in_use(void)
{
    ends = ends_open("");
    ibv_destroy_srq(ends[0].srq);
}

static void context_in_use(void)
{
    ends = ends_open("");
    ibv_close_device(ends[0].context);
}

static void never_closed(void)
{
    ends = ends_open("");
    exit(0);
}

static void settings_unknown(void)
{
    provider_configure("order=2");
}

static const struct rule rules[] = {
    {"an lkey that is not known", lkey_unknown, "the lkey is not known"},
    {"an rkey for an lkey", lkey_is_rkey, "the lkey is an rkey"},
    {"an lkey of another domain", lkey_of_other_domain,
     "the lkey is of another protection domain than the queue pair"},
    {"a source out of bounds", source_beyond, "the local address is out of the region's bounds"},
    {"an rkey that is not known", rkey_unknown, "the rkey is not known"},
    {"an lkey for an rkey", rkey_is_lkey, "the rkey is an lkey"},
    {"a target behind the region", target_beyond,
     "the remote address is out of the region's bounds"},
    {"a target before the region", target_before,
     "the remote address is out of the region's bounds"},
    {"a target without the right", target_not_writable,
     "the region does not allow remote access of this kind"},
    {"a target of another domain", target_of_other_domain,
     "the rkey is of another protection domain than the queue pair"},
    {"a target that is deregistered", target_deregistered, "the rkey is not known"},
    {"a queue pair without the right", pair_not_writable,
     "the queue pair at the other end does not allow remote access"},
    {"a source that changes before delivery", source_changed_before_delivery,
     "(64 bytes) changed before delivery"},
    {"a source that changes before its completion is polled", source_changed_before_poll,
     "(64 bytes) changed before its completion was polled"},
    {"a source that is deregistered", source_deregistered, "which 1 requests still use"},
    {"a source that changes before it was sent", source_changed_before_sent,
     "changed before it was sent"},
    {"flags that are not known", flags_unknown, "its flags are not known"},
    {"another operation", operation_unknown,
     "its operation is not offered by a reliable connection"},
    {"an inline READ", read_inline, "a READ cannot be inline"},
    {"a READ that is not allowed", read_refused, "the queue pair allows no READ"},
    {"a message that is too long", message_too_long,
     "it is longer than the port's longest message"},
    {"too many inline bytes", inline_too_long,
     "it has more inline bytes than the queue pair allows"},
    {"too many entries", too_many_entries, "it has more entries than the queue pair allows"},
    {"a request before RTS", sends_before_ready,
     "the queue pair is neither in state RTS nor in ERR"},
    {"a change without its attributes", modified_without_all,
     "ibv_modify_qp() from state 0 to 1 with mask 0x1"},
    {"a change out of turn", modified_out_of_turn, "ibv_modify_qp() from state 0 to 3"},
    {"a completion queue that overruns", overruns, "a completion queue of 64 entries overran"},
    {"no receive", no_receive, "has no receive for a message (RNR)"},
    {"a receive that is too short", receive_too_short,
     "a message of 64 bytes came for a receive of 32"},
    {"a receive out of bounds", receive_out_of_bounds,
     "a receive of 16 bytes: the local address is out of the region's bounds"},
    {"different MTUs", mtus_differ, "the ends of a connection have path MTU 512 and 1024"},
    {"a domain in use", domain_in_use, "ibv_dealloc_pd() while 3 objects use it"},
    {"a completion queue in use", queue_in_use, "ibv_destroy_cq() while 2 queue pairs use it"},
    {"a receive queue in use", receives_in_use, "ibv_destroy_srq() while 1 queue pairs use it"},
    {"a context in use", context_in_use,
     "ibv_close_device(strict0) while it has 1 protection domains"},
    {"a context that is never closed", never_closed, "2 contexts are still open at the end"},
    {"a setting that is not known", settings_unknown, "VERBS_STRICT has order"},
};

/* With violations=status the sentence comes, and then what hardware does. */
static void as_hardware(void **state)
{
    (void)state;
    ends = ends_open("violations=status");
    struct ibv_sge sge = {(uintptr_t)ends[0].memory, 8, ends[0].mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
    wr.wr.rdma.rkey = 7;
    assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ends[1].qp->state, IBV_QPS_ERR);
    assert_int_equal(provider_counts().violations, 1);
    ends_close(ends);
    ends = ends_open("violations=status");
    sge.lkey = 7;
    assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_LOC_PROT_ERR);
    ends_close(ends);
}

#ifdef __SANITIZE_THREAD__
/* Memory that is read without a completion, or before a source is free, is a race. */
static void reads_too_early(void)
{
    ends = ends_open("order=0,delay=0,hold=0");
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 4096, IBV_SEND_SIGNALED, 1);
    while (provider_counts().delivered == 0) {
    }
    volatile char *at = &ends[1].memory[100];
    exit(*at == 1 ? 3 : 4);
}

static void reuses_too_early(void)
{
    ends = ends_open("order=0,delay=0,hold=0,recheck=0");
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 4096, IBV_SEND_SIGNALED, 1);
    while (provider_counts().delivered == 0) {
    }
    volatile char *at = &ends[0].memory[100];
    *at = 1;
    exit(4);
}

static void races(void **state)
{
    (void)state;
    assert_violation(reads_too_early, "ThreadSanitizer: data race");
    assert_violation(reuses_too_early, "ThreadSanitizer: data race");
}
#endif

int main(void)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(as_hardware),
#ifdef __SANITIZE_THREAD__
        cmocka_unit_test(races),
#endif
    };
    return rules_run(rules, sizeof rules / sizeof *rules, more, sizeof more / sizeof *more);
}
