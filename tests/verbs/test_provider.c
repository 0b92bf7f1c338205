/*
 * test_provider.c - the provider itself: it moves data, and is as hostile as a NIC may be.
 * (test_provider_*.c: what it forbids, what fails, librdmacm. Other tests here use it.)
 * tier: deep; load: cpu1
 */
#include <errno.h>
#include <sys/mman.h>

#include "ends.h"

static const char *const fabrics[] = {"seed=1,order=1", "seed=2,order=0",
                                      "seed=3,order=0,overlap=4", "seed=4,order=1,link=ib,mtu=4096",
                                      "seed=5,order=0,iwarp=2"};
#define FABRICS (sizeof(fabrics) / sizeof(fabrics[0]))

static void fill(char *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char)(i * 31 + seed + (i >> 8));
}

/* WRITEs of all sizes arrive whole before their completion, at any alignment. */
static void writes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, 8, 64, 100, 1024, 1025, 4096, 65536, 200000};
    for (size_t f = 0; f < FABRICS; f++) {
        struct end *ends = ends_open(fabrics[f]);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            size_t at = i % 3 * 8 + i % 2;
            fill(ends[0].memory, END_BYTES, (unsigned)i);
            memset(ends[1].memory, 0x55, END_BYTES);
            assert_int_equal(
                end_post(ends, IBV_WR_RDMA_WRITE, at, sizes[i], IBV_SEND_SIGNALED, 99 + i), 0);
            struct ibv_wc wc = end_poll(&ends[0]);
            assert_int_equal(wc.status, IBV_WC_SUCCESS);
            assert_int_equal(wc.wr_id, 99 + i);
            assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
            if (strstr(fabrics[f], "iwarp")) { /* a SEND behind it tells */
                assert_int_equal(end_receive(&ends[1], END_BYTES - 8, 8, i), 0);
                assert_int_equal(
                    end_post(ends, IBV_WR_SEND, 0, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE, i), 0);
                assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
                assert_int_equal(end_poll(&ends[1]).opcode, IBV_WC_RECV);
            }
            assert_memory_equal(ends[0].memory + at, ends[1].memory + at, sizes[i]);
            assert_int_equal(ends[1].memory[at + sizes[i]], 0x55);
        }
        assert_int_equal(provider_counts().violations, 0);
        ends_close(ends);
    }
}

/* Immediate data comes in order, each after its bytes and those of all messages before. */
static void immediates(void **state)
{
    (void)state;
    for (size_t f = 0; f < FABRICS - 1; f++) {
        struct end *ends = ends_open(fabrics[f]);
        fill(ends[0].memory, END_BYTES, 1);
        for (uint64_t i = 0; i < END_DEPTH; i++)
            assert_int_equal(end_receive(&ends[1], 0, 0, i), 0);
        for (uint64_t i = 0; i < END_DEPTH; i++)
            assert_int_equal(end_post(ends, i % 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
                                      i * 5000, 5000, i + 1 == END_DEPTH ? IBV_SEND_SIGNALED : 0,
                                      i),
                             0);
        for (uint64_t i = 1; i < END_DEPTH; i += 2) {
            struct ibv_wc wc = end_poll(&ends[1]);
            assert_int_equal(wc.status, IBV_WC_SUCCESS);
            assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
            assert_int_equal(wc.wr_id, i / 2);
            assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
            assert_int_equal(wc.imm_data, i);
            assert_int_equal(wc.byte_len, 5000);
            assert_memory_equal(ends[0].memory, ends[1].memory, (i + 1) * 5000);
        }
        assert_int_equal(end_poll(&ends[0]).wr_id, END_DEPTH - 1);
        ends_close(ends);
    }
}

/* SENDs land in the receives; entries are gathered; inline sources are free at once. */
static void sends(void **state)
{
    (void)state;
    for (size_t f = 0; f < FABRICS; f++) {
        struct end *ends = ends_open(fabrics[f]);
        fill(ends[0].memory, 4096, 3);
        assert_int_equal(end_receive(&ends[1], 8192, 3000, 5), 0);
        assert_int_equal(end_receive(&ends[1], 16384, 64, 6), 0);
        struct ibv_sge sges[3];
        for (int i = 0; i < 3; i++)
            sges[i] = (struct ibv_sge){(uintptr_t)ends[0].memory + (size_t)i * 1000, 1000,
                                       ends[0].mr->lkey};
        struct ibv_send_wr wr = {.sg_list = sges, .num_sge = 3, .opcode = IBV_WR_SEND}, *bad;
        assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
        char small[64];
        memcpy(small, ends[0].memory, 64);
        sges[0] = (struct ibv_sge){(uintptr_t)small, 64, 0};
        wr.num_sge = 1;
        wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
        assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
        memset(small, 0, sizeof(small));
        assert_int_equal(end_poll(&ends[1]).wr_id, 5);
        assert_int_equal(end_poll(&ends[1]).wr_id, 6);
        assert_memory_equal(ends[1].memory + 8192, ends[0].memory, 3000);
        assert_memory_equal(ends[1].memory + 16384, ends[0].memory, 64);
        assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
        ends_close(ends);
    }
}

static void reads(void **state)
{
    (void)state;
    struct end *ends = ends_open("order=0");
    fill(ends[1].memory, 4096, 9);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_READ, 0, 4096, IBV_SEND_SIGNALED, 1), 0);
    assert_int_equal(end_poll(&ends[0]).opcode, IBV_WC_RDMA_READ);
    assert_memory_equal(ends[0].memory, ends[1].memory, 4096);
    ends_close(ends);
}

/* A reader of memory sees the last word of a message after the rest where that is promised, and now
 * and then before where it is not. Words of 8 bytes are never torn. */
static void orders(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        struct end *ends = ends_open(ordered ? "order=1" : "order=0");
        assert_int_equal(ibv_query_qp_data_in_order(ends[0].qp, IBV_WR_RDMA_WRITE, 0), ordered);
        int early = 0;
        uint64_t *last = (uint64_t *)(void *)(ends[1].memory + 8192 - 8);
        for (int turn = 1; turn <= 200; turn++) {
            memset(ends[0].memory, turn, 8192);
            uint64_t word;
            memcpy(&word, ends[0].memory, 8);
            assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8192, IBV_SEND_SIGNALED, 0), 0);
            while (ordered && __atomic_load_n(last, __ATOMIC_ACQUIRE) != word) {
            }
            for (int i = 0; ordered && i < 8192; i++)
                assert_int_equal(ends[1].memory[i], (char)turn);
            struct ibv_wc wc;
            while (!ordered && ibv_poll_cq(ends[0].cq, 1, &wc) == 0) {
#ifndef __SANITIZE_THREAD__ /* this is the race itself */
                bool came = __atomic_load_n(last, __ATOMIC_ACQUIRE) == word;
                early += came && __atomic_load_n(ends[1].memory, __ATOMIC_ACQUIRE) != (char)turn;
#endif
            }
            if (ordered)
                assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
        }
#ifndef __SANITIZE_THREAD__
        assert_true(ordered || early > 0);
#endif
        (void)early;
        ends_close(ends);
    }
}

/* Completions of one queue pair come in order, of two they change places; a queue pair has room
 * again only when a completion was polled. */
static void completions(void **state)
{
    (void)state;
    struct end *ends = ends_open("order=0,hold=200");
    struct ibv_qp *own = ends[0].qp, *other = ends[1].qp;
    struct ibv_qp *second[2] = {end_pair(&ends[0]), end_pair(&ends[1])};
    ends[0].qp = second[0], ends[1].qp = second[1];
    ends_connect(ends);
    int changed = 0;
    for (int turn = 0; turn < 50; turn++) {
        uint64_t next[2] = {0, 0};
        for (uint64_t i = 0; i < 20; i++) {
            ends[0].qp = i % 2 ? second[0] : own;
            assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, i), 0);
        }
        for (uint64_t i = 0; i < 20; i++) {
            struct ibv_wc wc = end_poll(&ends[0]);
            changed += wc.wr_id != i;
            assert_int_equal(wc.wr_id / 2, next[wc.wr_id % 2]++);
            assert_int_equal(wc.qp_num, (wc.wr_id % 2 ? second[0] : own)->qp_num);
        }
    }
    assert_true(changed > 0);
    ends[0].qp = own;
    for (int i = 0; i < END_DEPTH; i++)
        assert_int_equal(
            end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, i == END_DEPTH / 2 ? IBV_SEND_SIGNALED : 0, 7),
            0);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 7), ENOMEM);
    assert_int_equal(end_poll(&ends[0]).wr_id, 7);
    for (int i = 0; i <= END_DEPTH / 2; i++)
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 7), 0);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 7), ENOMEM);
    ends[0].qp = own, ends[1].qp = other;
    assert_int_equal(ibv_destroy_qp(second[0]), 0);
    assert_int_equal(ibv_destroy_qp(second[1]), 0);
    ends_close(ends);
}

/* iWARP: no immediate data; a completion is not delivery; a bad key kills the receiver. */
static void iwarp(void **state)
{
    (void)state;
    struct end *ends = ends_open("iwarp=2,violations=status,delay=100000");
    assert_int_equal(ends[0].context->device->transport_type, IBV_TRANSPORT_IWARP);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, IBV_SEND_SIGNALED, 1),
                     -EINVAL);
    int early = 0;
    for (int i = 1; i < 20; i++) {
        memset(ends[0].memory, i, 8);
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, 1), 0);
        assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
        early += __atomic_load_n((uint64_t *)(void *)ends[1].memory, __ATOMIC_ACQUIRE) !=
                 *(uint64_t *)(void *)ends[0].memory;
    }
    assert_true(early > 0);
    struct ibv_sge sge = {(uintptr_t)ends[0].memory, 8, ends[0].mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    wr.wr.rdma.rkey = 12345;
    assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
    struct ibv_async_event event;
    do { /* the first message was an event, too */
        assert_int_equal(ibv_get_async_event(ends[1].context, &event), 0);
        ibv_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_QP_ACCESS_ERR);
    assert_ptr_equal(event.element.qp, ends[1].qp);
    assert_int_equal(ends[1].qp->state, IBV_QPS_ERR);
    ends_close(ends);
    provider_configure("iwarp=1");
    static struct end one;
    end_open(&one, 0);
    struct ibv_qp_attr attr = end_attr(&one, 1, &one);
    assert_int_equal(end_modify(one.qp, attr, IBV_QPS_INIT), 0);
    assert_int_equal(end_modify(one.qp, attr, IBV_QPS_RTR), EINVAL);
    end_close(&one);
}

/* Devices, ports and tables are what the settings say. */
static void tables(void **state)
{
    (void)state;
    provider_configure("devices=2,ports=2,link=roce,hosts=2,down=1,mtu=2048");
    provider_port(0, 0, 2)->pkeys[0] = 0x7fff;
    int count;
    union ibv_gid gids[2];
    for (int host = 0; host < 2; host++) {
        provider_host(host);
        struct ibv_device **list = ibv_get_device_list(&count);
        assert_int_equal(count, 2);
        assert_string_equal(ibv_get_device_name(list[1]), "strict1");
        struct ibv_context *context = ibv_open_device(list[0]), *down = ibv_open_device(list[1]);
        struct ibv_device_attr attr;
        assert_int_equal(ibv_query_device(context, &attr), 0);
        assert_int_equal(attr.phys_port_cnt, 2);
        struct ibv_port_attr port;
        assert_int_equal(ibv_query_port(context, 2, &port), 0);
        assert_int_equal(port.state, IBV_PORT_ACTIVE);
        assert_int_equal(port.active_mtu, IBV_MTU_2048);
        assert_int_equal(ibv_query_port(context, 3, &port), EINVAL);
        assert_int_equal(ibv_query_port(down, 1, &port), 0);
        assert_int_equal(port.state, IBV_PORT_DOWN);
        struct ibv_gid_entry entries[16];
        assert_int_equal(ibv_query_gid_table(context, entries, 16, 0), 8);
        assert_int_equal(entries[3].gid_type, IBV_GID_TYPE_ROCE_V2);
        assert_int_equal(entries[3].gid.raw[10], 0xff);
        assert_int_equal(entries[3].gid.raw[12], 10);
        assert_int_equal(ibv_query_gid(context, 1, 3, &gids[host]), 0);
        assert_int_equal(ibv_query_gid(context, 1, 8, &gids[host]), -1);
        __be16 pkey;
        assert_int_equal(ibv_query_pkey(context, 2, 0, &pkey), 0);
        assert_int_equal(pkey, host ? 0xffff : 0xff7f);
        assert_int_equal(ibv_close_device(context), 0);
        assert_int_equal(ibv_close_device(down), 0);
        ibv_free_device_list(list);
    }
    provider_host(0);
    assert_memory_not_equal(&gids[0], &gids[1], sizeof(gids[0]));
}

/* A descriptor that can be mapped is registered as device memory is. */
static void device_memory(void **state)
{
    (void)state;
    struct end *ends = ends_open("order=1");
    assert_null(ibv_reg_dmabuf_mr(ends[0].pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EBADF);
    int file = memfd_create("device", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, 8192), 0);
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(ends[1].pd, 4096, 4096, 0x10000, file,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    assert_non_null(mr);
    fill(ends[0].memory, 100, 4);
    struct ibv_sge sge = {(uintptr_t)ends[0].memory, 100, ends[0].mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    wr.wr.rdma.remote_addr = 0x10010;
    wr.wr.rdma.rkey = mr->rkey;
    assert_int_equal(ibv_post_send(ends[0].qp, &wr, &bad), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
    char came[100];
    assert_int_equal(pread(file, came, 100, 4096 + 16), 100);
    assert_memory_equal(came, ends[0].memory, 100);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    close(file);
    ends_close(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes), cmocka_unit_test(immediates), cmocka_unit_test(sends),
        cmocka_unit_test(reads),  cmocka_unit_test(orders),     cmocka_unit_test(completions),
        cmocka_unit_test(iwarp),  cmocka_unit_test(tables),     cmocka_unit_test(device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
