/*
 * links.c - what ranks tell each other before they connect is looked at before it is believed: this
 * test stands in for the control plane, and for the other rank.
 */
#include "transport/links.h"

#include <string.h>

#include "world.h"

/* Round 0: the cards; 1: who reaches whom; 2: the wishes, which `nonsense` says how to spoil. */
struct control {
    int round;
    enum nonsense { NOTHING, SHORT, LONG, LANES, NEGATIVE, UNREACHED } nonsense;
};

static const struct member members[2] = {{.host = "here"}, {.host = "here"}};

const struct member *control_members(const struct control *control)
{
    (void)control;
    return members;
}

void blobs_free(struct blobs *blobs)
{
    for (int i = 0; i < blobs->count; i++)
        free(blobs->data[i]);
    free(blobs->data);
    free(blobs->size);
    *blobs = (struct blobs){.count = 0};
}

enum status control_allgather(struct control *control, const void *data, size_t size,
                              struct blobs *blobs)
{
    enum nonsense nonsense = control->nonsense;
    size_t theirs = size;
    char *other = calloc(1, size + 1);
    memcpy(other, data, size);
    if (control->round == 1) { /* all transports reach, so far as this rank's do */
        other[0] = other[1];
        theirs = nonsense == UNREACHED ? 1 : size;
    }
    if (control->round == 2) {
        int lanes = nonsense == LANES ? 1 << 30 : nonsense == NEGATIVE ? -1 : 1;
        memcpy(other, &lanes, sizeof(lanes));
        theirs = nonsense == NOTHING ? 0 : nonsense == SHORT ? 2 : size + (nonsense == LONG);
    }
    control->round++;
    blobs->count = 2;
    blobs->data = calloc(2, sizeof(*blobs->data));
    blobs->size = calloc(2, sizeof(*blobs->size));
    blobs->data[0] = memcpy(malloc(size), data, size);
    blobs->size[0] = size;
    if (theirs > 0)
        blobs->data[1] = other;
    else
        free(other);
    blobs->size[1] = theirs;
    return STATUS_OK;
}

static void test_nonsense(void **state)
{
    (void)state;
    const struct transport *const allowed[] = {transport_find("tcp"), NULL};
    const struct transport_config config = {
        .ranks = 2, .local_ranks = 2, .secret = world_secret, .timeout = 1};
    for (enum nonsense nonsense = NOTHING; nonsense <= UNREACHED; nonsense++) {
        struct control control = {.nonsense = nonsense};
        struct links *links = NULL;
        struct log log;
        const unsigned char wishes[] = {0, LINKS_WISHED};
        log_init(&log, 0, 0);
        log_attach(&log);
        enum status status = links_open(allowed, &config, &control, &links);
        assert_int_equal(status, nonsense == UNREACHED ? STATUS_ERROR : STATUS_OK);
        if (status == STATUS_OK)
            assert_int_equal(links_connect(links, &control, wishes, 1), STATUS_ERROR);
        assert_non_null(strstr(log.failure.text, "rank 1"));
        links_close(links);
        log_attach(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nonsense)};
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
