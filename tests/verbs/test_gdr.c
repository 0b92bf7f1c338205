/*
 * test_gdr.c - how a rank's NICs reach memory that no CPU reads: the way that is chosen on each
 * kind of node, each way that is asked for, and each sentence that refuses one.
 * tier: deep; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "card.h"
#include "options.h"
#include "provider.h"
#include "transports/verbs/internal.h"

#define BYTES ((size_t)1 << 20)

static const unsigned char secret[32] = "only these ranks know it";

/* The kinds of memory. */
enum card_sort { CARD, WITHOUT_SHARE, REFUSES_SHARE, NO_PEER, HOST };

#define REGIONS 3

/* A request on a node, and its result. */
struct attempt {
    const char *provider, *option; /* the option NULL: none */
    enum card_sort memory; /* of the last region; those in front of it are CARD, or HOST as it */
    enum copy_policy copy;
    enum verbs_gdr gdr;
    const char *refused; /* NULL: `gdr` is taken */
};

static const struct attempt attempts[] = {
    {"peermem=1", NULL, CARD, COPY_AUTO, VERBS_GDR_DMABUF, NULL},
    {"devices=2,peermem=1", "nic=strict0+strict1", CARD, COPY_AUTO, VERBS_GDR_DMABUF, NULL},
    {"dmabuf=0,peermem=1", NULL, CARD, COPY_AUTO, VERBS_GDR_PEERMEM, NULL},
    {"fail=reg_mr:1,peermem=1", NULL, CARD, COPY_AUTO, VERBS_GDR_PEERMEM, NULL},
    {"peermem=1", NULL, WITHOUT_SHARE, COPY_AUTO, VERBS_GDR_PEERMEM, NULL},
    {"peermem=1", NULL, REFUSES_SHARE, COPY_AUTO, VERBS_GDR_PEERMEM, NULL},
    {"dmabuf=0", NULL, CARD, COPY_AUTO, VERBS_GDR_STAGED, NULL},
    {"peermem=0", NULL, REFUSES_SHARE, COPY_ZCOPY, VERBS_GDR_STAGED, NULL},
    {"dmabuf=0,peermem=1", NULL, NO_PEER, COPY_AUTO, VERBS_GDR_STAGED, NULL},
    {"peermem=1", NULL, CARD, COPY_BCOPY, VERBS_GDR_STAGED, NULL},
    {"peermem=0", NULL, HOST, COPY_AUTO, VERBS_GDR_AUTO, NULL},

    {"peermem=1", "gdr=dmabuf", CARD, COPY_ZCOPY, VERBS_GDR_DMABUF, NULL},
    {"peermem=1", "gdr=peermem", CARD, COPY_AUTO, VERBS_GDR_PEERMEM, NULL},
    {"peermem=1", "gdr=staged", CARD, COPY_AUTO, VERBS_GDR_STAGED, NULL},
    {"peermem=1", "gdr=dmabuf", HOST, COPY_BCOPY, VERBS_GDR_AUTO, NULL},
    {"peermem=0", "gdr=staged", HOST, COPY_AUTO, VERBS_GDR_AUTO, NULL},

    {"dmabuf=0", "gdr=dmabuf", CARD, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=dmabuf: NIC strict0:1 cannot import GPU memory (dmabuf): that takes Linux 5.12 and "
     "rdma-core 34, or newer"},
    {"dmabuf=0,peermem=1", "gdr=dmabuf", HOST, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=dmabuf: NIC strict0:1 cannot import GPU memory (dmabuf)"},
    {"peermem=1", "gdr=dmabuf", WITHOUT_SHARE, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=dmabuf: card memory has no dmabuf"},
    {"peermem=1", "gdr=dmabuf", REFUSES_SHARE, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=dmabuf: the driver is not the open kernel module"},
    {"fail=reg_mr:1", "gdr=dmabuf", CARD, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=dmabuf: NIC strict0:1 cannot register card memory by dmabuf (Cannot allocate memory): "
     "look at the messages of both drivers (dmesg)"},
    {"peermem=1", "gdr=dmabuf", CARD, COPY_BCOPY, VERBS_GDR_AUTO,
     "gdr=dmabuf: a CPU cannot copy card memory to slots, which --copy bcopy asks for"},
    {"peermem=0", "gdr=peermem", CARD, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=peermem: no peer memory module is loaded: load it (modprobe nvidia_peermem)"},
    {"peermem=0", "gdr=peermem", HOST, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=peermem: no peer memory module is loaded"},
    {"peermem=1", "gdr=peermem", NO_PEER, COPY_AUTO, VERBS_GDR_AUTO,
     "gdr=peermem: NIC strict0:1 cannot register card memory by peermem (Bad address)"},
};

static enum status share_refuse(const struct region *region, enum share_way way,
                                struct shared *shared, char *reason)
{
    (void)region, (void)way, (void)shared;
    snprintf(reason, MEMORY_REASON_MOST, "the driver is not the open kernel module");
    return STATUS_UNAVAILABLE;
}

static void region_make(enum card_sort memory, struct memory_kind *kind, struct region *region)
{
    *kind = memory == HOST ? *memory_kinds[0] : memory_card;
    assert_int_equal(kind->allocate(BYTES, NULL, region), STATUS_OK);
    region->kind = kind;
    if (memory == WITHOUT_SHARE)
        kind->share = NULL;
    else if (memory == REFUSES_SHARE)
        kind->share = share_refuse;
    else if (memory == NO_PEER)
        provider_device_memory(region->base, BYTES, -1, 0);
}

static void attempt_judge(const struct attempt *attempt, enum status status,
                          struct endpoint *endpoint, const struct memory_kind *kind, char *reason)
{
    bool refused = status == STATUS_UNAVAILABLE;
    if (refused != (attempt->refused != NULL) ||
        (refused && strncmp(reason, attempt->refused, strlen(attempt->refused)) != 0))
        print_error("%s, %s: status %d: \"%s\"\n", attempt->provider, attempt->option, status,
                    reason);
    assert_int_equal(refused, attempt->refused != NULL);
    if (refused) {
        assert_memory_equal(reason, attempt->refused, strlen(attempt->refused));
        return;
    }
    assert_int_equal(status, STATUS_OK);
    enum verbs_gdr gdr = ((const struct verbs_endpoint *)endpoint)->gdr;
    if (gdr != attempt->gdr)
        print_error("%s, %s: %d\n", attempt->provider, attempt->option, gdr);
    assert_int_equal(gdr, attempt->gdr);
    bool direct = gdr == VERBS_GDR_DMABUF || gdr == VERBS_GDR_PEERMEM;
    assert_true(endpoint_reaches(endpoint, memory_kinds[0], reason));
    assert_int_equal(endpoint_reaches(endpoint, kind, reason), direct || attempt->memory == HOST);
    if (gdr == VERBS_GDR_STAGED && !attempt->option) /* what is missing for the last way */
        assert_true(strstr(reason, "it does not reach card memory: ") && reason[32]);
    transport_verbs.close(endpoint);
}

static void attempt_run(const struct attempt *attempt)
{
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {{0}};
    struct memory_kind kinds[REGIONS];
    struct region regions[REGIONS];
    struct endpoint *endpoint = NULL;
    struct log log;
    char reason[TRANSPORT_REASON_MOST] = "";
    provider_configure(attempt->provider);
    for (int i = 0; i < REGIONS; i++)
        region_make(i == REGIONS - 1 || attempt->memory == HOST ? attempt->memory : CARD, &kinds[i],
                    &regions[i]);
    if (attempt->option)
        option_set(settings, attempt->option);
    const struct transport_config config = {.ranks = 2,
                                            .local_ranks = 1,
                                            .copy = attempt->copy,
                                            .settings = settings,
                                            .regions = regions,
                                            .region_count = REGIONS,
                                            .secret = secret,
                                            .timeout = 10};
    log_init(&log, 0, 0);
    log_attach(&log);
    enum status status = transport_verbs.open(&config, &endpoint, reason);
    attempt_judge(attempt, status, endpoint, &kinds[REGIONS - 1], reason);
    assert_int_equal(log.failure.status, STATUS_OK);
    log_attach(NULL);
    provider_check();
    for (int i = 0; i < REGIONS; i++)
        kinds[i].release(&regions[i]);
}

static void test_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        attempt_run(&attempts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
