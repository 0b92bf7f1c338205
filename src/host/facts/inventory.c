/*
 * inventory.c - what one host has: a flat list of facts.
 */

#include "base/list.h"
#include "base/timed_call.h"
#include "host/facts/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_keep(struct inventory *inventory, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size == 1)
        return "";
    if (!inventory->arena)
        inventory->arena = arena_create();
    char *copy = arena_take(inventory->arena, size);
    if (!copy)
        memory_end();
    return memcpy(copy, text, size);
}

static void fact_add(struct inventory *inventory, const struct inventory_fact *fact)
{
    if (inventory_find(inventory, fact->rule->kind, fact->part, fact->rule->key))
        return;
    struct inventory_fact *kept = LIST_ADD(inventory->facts, inventory->count);
    *kept = *fact;
    kept->part = text_keep(inventory, fact->part);
    kept->text = text_keep(inventory, fact->text);
}

void inventory_add_text(struct inventory *inventory, enum part_kind kind, const char *part,
                        const char *key, const char *text)
{
    const struct inventory_fact fact = {
        .rule = fact_rule_find(kind, key), .part = part, .text = text};
    if (text[0])
        fact_add(inventory, &fact);
}

void inventory_add_number(struct inventory *inventory, enum part_kind kind, const char *part,
                          const char *key, double number, double best)
{
    const struct inventory_fact fact = {.rule = fact_rule_find(kind, key),
                                        .part = part,
                                        .text = "",
                                        .number = number,
                                        .best = best};
    fact_add(inventory, &fact);
}

const struct inventory_fact *inventory_find(const struct inventory *inventory, enum part_kind kind,
                                            const char *part, const char *key)
{
    for (int i = 0; i < inventory->count; i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        if (fact->rule->kind == kind && strcmp(fact->rule->key, key) == 0 &&
            strcmp(fact->part, part) == 0)
            return fact;
    }
    return NULL;
}

const char *fact_text(const struct inventory_fact *fact, char text[VALUE_TEXT_MOST])
{
    if (fact->rule->unit != VALUE_TEXT)
        return value_text(fact->rule->unit, fact->number, text);
    snprintf(text, VALUE_TEXT_MOST, "%s", fact->text);
    return text;
}

/* Appends the facts of `from`, which stays. */
static void inventory_append(struct inventory *inventory, const struct inventory *from)
{
    for (int i = 0; i < from->count; i++)
        fact_add(inventory, &from->facts[i]);
}

/* As IEEE 754 has it. */
static uint64_t number_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double read_number(struct reader *reader)
{
    uint64_t bits = read_u64(reader);
    double number;
    memcpy(&number, &bits, sizeof number);
    reader->bad |= !(number >= 0);
    return reader->bad ? 0 : number;
}

/* Texts are cut off at VALUE_TEXT_MOST, as a printed value is. */
void inventory_encode(const struct inventory *inventory, struct bytes *share)
{
    int count = inventory->count < INVENTORY_FACTS_MOST ? inventory->count : INVENTORY_FACTS_MOST;
    bytes_put_u32(share, (uint32_t)count);
    for (int i = 0; i < count; i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        char name[RULE_KEY_MOST], part[PART_NAME_MOST], text[VALUE_TEXT_MOST];
        snprintf(part, sizeof part, "%s", fact->part);
        bytes_put_text(share, fact_rule_name(fact->rule, name));
        bytes_put_text(share, part);
        if (fact->rule->unit == VALUE_TEXT) {
            bytes_put_text(share, fact_text(fact, text));
            continue;
        }
        bytes_put_u64(share, number_bits(fact->number));
        bytes_put_u64(share, number_bits(fact->best));
    }
}

bool inventory_decode(struct inventory *inventory, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    reader->bad |= count > INVENTORY_FACTS_MOST;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        char name[RULE_KEY_MOST], part[PART_NAME_MOST], text[VALUE_TEXT_MOST] = "";
        read_text(reader, name, sizeof name);
        read_text(reader, part, sizeof part);
        struct inventory_fact fact = {.rule = fact_rule_named(name), .part = part, .text = text};
        reader->bad |= !fact.rule;
        if (reader->bad)
            break;
        if (fact.rule->unit == VALUE_TEXT) {
            read_text(reader, text, sizeof text);
            reader->bad |= !text[0];
        } else {
            fact.number = read_number(reader);
            fact.best = read_number(reader);
            reader->bad |= isinf(fact.best);
        }
        if (!reader->bad)
            fact_add(inventory, &fact);
    }
    return !reader->bad;
}

void inventory_free(struct inventory *inventory)
{
    arena_free(inventory->arena);
    free(inventory->facts);
    *inventory = (struct inventory){0};
}

/*
 * Asks each source of facts, in a thread with a limit.
 */
static const struct fact_source fact_sources[] = {
    {"CPUs", PART_HOST, cpu_facts},
    {"memory", PART_HOST, memory_facts},
    {"system", PART_HOST, system_facts},
    {"NICs", PART_NIC, nic_facts},
    {"network interfaces", PART_INTERFACE, interface_facts},
    {"GPUs", PART_GPU, gpu_facts},
    {"drives", PART_DRIVE, drive_facts},
};

void look_text(struct fact_look *look, const char *part, const char *key, const char *text)
{
    inventory_add_text(&look->inventory, look->facts->kind, part, key, text);
}

void look_number(struct fact_look *look, const char *part, const char *key, double number,
                 double best)
{
    inventory_add_number(&look->inventory, look->facts->kind, part, key, number, best);
}

struct inventory_source inventory_here(const char *host)
{
    return (struct inventory_source){
        .root = "", .host = host, .patience = 5, .firmware = netdev_firmware, .asks_nvml = true};
}

/* How many parts there are is a fact of the host. */
static void look_run(void *argument)
{
    struct fact_look *look = argument;
    char key[RULE_KEY_MOST];
    look->facts->read(look);
    snprintf(key, sizeof key, "%s.count", part_kind_names[look->facts->kind]);
    if (look->facts->kind != PART_HOST)
        inventory_add_number(&look->inventory, PART_HOST, "", key, look->parts, 0);
}

/* False: a signal ends the process. */
static bool source_ask(const struct inventory_source *source, const struct fact_source *facts,
                       struct inventory *inventory)
{
    char text[INQUIRY_TEXT_MOST];
    struct fact_look *look = new_array(1, sizeof *look);
    look->facts = facts;
    look->source = *source;
    snprintf(look->sysfs, sizeof look->sysfs, "%s/sys", source->root);
    inquiry_init(&look->inquiry, facts->name);
    int end = timed_call_run(look_run, look, source->patience);
    if (end == 0) {
        inventory_append(inventory, &look->inventory);
    } else {
        if (end == ETIMEDOUT)
            inquiry_text(&look->inquiry, source->host, text);
        else
            timed_call_text(end, text, sizeof text);
        inventory_add_text(inventory, PART_HOST, facts->name, "silent", text);
    }
    if (!timed_call_is_abandoned(end)) {
        inventory_free(&look->inventory);
        free(look);
    }
    timed_call_reraise(end);
    return end >= 0;
}

void inventory_collect(const struct inventory_source *source, struct inventory *inventory)
{
    bool goes_on = true;
    for (size_t i = 0; i < sizeof fact_sources / sizeof *fact_sources && goes_on; i++)
        goes_on = source_ask(source, &fact_sources[i], inventory);
}
