/*
 * inventory.c - inventories of hosts, as they come from other hosts: decoding, comparison, and all
 * sentences; and lines of a profile.
 *
 * Input: a line of a profile, which the first newline ends; then the inventories of three hosts.
 */
#include "base/log.h"
#include "accept/judge/judge.h"
#include "fuzz.h"

#define HOSTS 3

/* "; 63 of 64 hosts have 400": none but a majority is compared with. */
static bool is_by_majority(const char *text)
{
    int holders, total;
    const char *at = strstr(text, "; ");
    return !at || sscanf(at, "; %d of %d hosts have", &holders, &total) != 2 || 2 * holders > total;
}

static void compare(const struct inventory_host *hosts, const struct expected_fact *expected,
                    int expectations)
{
    struct inventory_findings findings;
    inventory_compare(hosts, HOSTS, &findings);
    inventory_expect(hosts, HOSTS, expected, expectations, &findings);
    for (int i = 0; i < findings.count; i++) {
        const struct inventory_finding *finding = &findings.items[i];
        require(finding->host >= -1 && finding->host < HOSTS);
        require(finding->text[0]);
        require(is_by_majority(finding->text));
        require(i == 0 || findings.items[i - 1].host <= finding->host);
    }
    inventory_findings_free(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[HOSTS] = {"a", "b", "c"};
    struct inventory inventories[HOSTS] = {{0}};
    struct inventory_host hosts[HOSTS];
    struct profile_line line;
    struct expected_fact expected;
    struct log log;
    log_init(&log, 0, 0);
    log_attach(&log);
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t length = newline ? (size_t)(newline - data) : 0;
    char *text = strndup((const char *)data, length);
    if (!text)
        abort();
    int expectations = profile_line_read(text, "profile", 1, &line) == STATUS_OK && line.key[0] &&
                       expected_fact_read(&line, &expected) == STATUS_OK;
    struct reader reader = {.at = data + (newline ? length + 1 : 0),
                            .left = size - (newline ? length + 1 : 0)};
    for (int i = 0; i < HOSTS; i++) {
        bool valid = inventory_decode(&inventories[i], &reader);
        hosts[i] =
            (struct inventory_host){.name = names[i], .inventory = valid ? &inventories[i] : NULL};
    }
    compare(hosts, &expected, expectations);
    for (int i = 0; i < HOSTS; i++)
        inventory_free(&inventories[i]);
    free(text);
    log_attach(NULL);
    return 0;
}

void fuzz_seeds(void)
{
    struct bytes seed = {0};
    const char *line = "nic.rate >= 400 Gb/s\n";
    bytes_put(&seed, line, strlen(line));
    for (int i = 0; i < HOSTS; i++) {
        struct inventory inventory = {0};
        inventory_add_number(&inventory, PART_NIC, "mlx5_0", "rate", i == 1 ? 200 : 400, 0);
        inventory_add_number(&inventory, PART_NIC, "mlx5_0", "pcie.width", i == 1 ? 8 : 16, 16);
        inventory_add_number(&inventory, PART_HOST, "", "nic.count", 1, 0);
        inventory_add_text(&inventory, PART_HOST, "", "kernel", i == 2 ? "6.1" : "6.2");
        if (i == 2)
            inventory_add_text(&inventory, PART_HOST, "GPUs", "silent", "it hangs");
        inventory_encode(&inventory, &seed);
        inventory_free(&inventory);
    }
    fuzz_seed("three", seed.data, seed.size);
    bytes_free(&seed);
}
