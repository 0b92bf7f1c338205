/*
 * device_report.c - what the devices of all ranks have counted, as a report shows it.
 */
#include "run/results/results.h"

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_sums_open(struct device_sums *sums, const struct device_table *table)
{
    *sums = (struct device_sums){
        .table = table, .counters = new_array((size_t)table->row_count, sizeof *sums->counters)};
}

void device_sums_close(struct device_sums *sums)
{
    for (int i = 0; sums->counters && i < sums->table->row_count; i++)
        counter_list_free(&sums->counters[i]);
    free(sums->counters);
    *sums = (struct device_sums){0};
}

/* The reading of a row; a new one is empty. */
static struct device_reading *reading_of(struct device_readings *readings,
                                         const struct device_table *table, int row)
{
    const struct device *device = table->rows[row].device;
    for (int i = 0; i < readings->count; i++)
        if (readings->items[i].device == device)
            return &readings->items[i];
    struct device_reading *reading = LIST_ADD(readings->items, readings->count);
    reading->host = table->members[table->rows[row].rank].host;
    reading->device = device;
    return reading;
}

void device_sums_add(struct device_sums *sums, int rank, const struct device_changes *changes,
                     struct device_readings *readings)
{
    for (int i = 0; sums->counters && i < changes->count; i++) {
        const struct device_change *change = &changes->devices[i];
        int row = device_table_find(sums->table, rank, change->name);
        if (row < 0)
            continue;
        counters_sum(&sums->counters[row], &change->counters);
        if (change->counters.count > 0)
            counters_sum(&reading_of(readings, sums->table, row)->counters, &change->counters);
    }
}

void device_sums_of_class(const struct device_sums *sums, enum counter_class class,
                          struct device_readings *readings)
{
    for (int i = 0; sums->counters && i < sums->table->row_count; i++)
        if (counters_of_class(&sums->counters[i], class) > 0)
            counters_sum(&reading_of(readings, sums->table, i)->counters, &sums->counters[i]);
}

void device_readings_free(struct device_readings *readings)
{
    for (int i = 0; i < readings->count; i++)
        counter_list_free(&readings->items[i].counters);
    free(readings->items);
    *readings = (struct device_readings){0};
}

/*
 * Rank 0's table of the devices that the ranks use.
 *
 * Several ranks of a host may use one device: it has one row.
 */
int device_table_find(const struct device_table *table, int rank, const char *device)
{
    for (int i = 0; i < table->row_count; i++)
        if (table->rows[i].node == table->members[rank].node &&
            strcmp(table->devices.devices[i].name, device) == 0)
            return i;
    return -1;
}

bool device_table_decode(struct device_table *table, int rank, struct reader *reader)
{
    int first = table->devices.count;
    bool good = device_list_decode(&table->devices, reader);
    int behind = table->devices.count;
    table->devices.count = first;
    for (int i = first; i < behind; i++) {
        struct device device = table->devices.devices[i];
        int row = good ? device_table_find(table, rank, device.name) : -1;
        if (good && row < 0) {
            row = table->row_count;
            *LIST_ADD(table->rows, table->row_count) =
                (struct device_row){.rank = rank, .node = table->members[rank].node};
            table->devices.devices[table->devices.count++] = device;
        } else {
            free(device.facts);
        }
        if (good)
            *LIST_ADD(table->uses, table->use_count) =
                (struct device_use){.rank = rank, .row = row};
    }
    return good;
}

void device_table_complete(struct device_table *table)
{
    for (int i = 0; i < table->row_count; i++)
        table->rows[i].device = &table->devices.devices[i];
}

void device_table_free(struct device_table *table)
{
    device_list_free(&table->devices);
    free(table->rows);
    free(table->uses);
    *table = (struct device_table){0};
}

/*
 * The devices of a job that differ from the others.
 *
 * For each fact, the text that more than half of the devices have is the majority's. A fact that
 * only devices of one model share (firmware) is compared within the model.
 */
#define NAMED_MOST    6 /* devices of a sentence; more are counted */
#define VALUES_MOST   4 /* values of a fact that has no majority; likewise */
#define WORDS_MOST    768
#define SENTENCE_MOST 1536

struct sentences {
    struct difference *list;
    int count;
};

/* The values of a fact on all devices of a group, which should agree in it. */
struct tally {
    const struct device_table *table;
    const struct device *like; /* one of the group */
    const struct fact *fact;   /* its */
    int total;                 /* devices that have the fact */
    const char *most;          /* the text that most of them have */
    int holders;               /* how many */
};

static bool is_compared(const struct fact *fact)
{
    return fact->scope == FACT_ALL || fact->scope == FACT_MODEL;
}

static const struct fact *fact_of(const struct device *device, const char *name)
{
    for (int i = 0; i < device->fact_count; i++)
        if (is_compared(&device->facts[i]) && strcmp(device->facts[i].name, name) == 0)
            return &device->facts[i];
    return NULL;
}

/* The fact of another device, if it belongs to the tally; else NULL. */
static const struct fact *tally_fact(const struct tally *tally, const struct device *device)
{
    const struct fact *fact = fact_of(device, tally->fact->name);
    bool alike =
        strcmp(device->kind, tally->like->kind) == 0 &&
        (tally->fact->scope != FACT_MODEL || strcmp(device->model, tally->like->model) == 0);
    return fact && alike && fact->scope == tally->fact->scope ? fact : NULL;
}

static int holders_of(const struct tally *tally, const char *text)
{
    int holders = 0;
    for (int i = 0; i < tally->table->row_count; i++) {
        const struct fact *fact = tally_fact(tally, tally->table->rows[i].device);
        holders += fact && strcmp(fact->text, text) == 0;
    }
    return holders;
}

/* Finds the majority by Boyer and Moore's vote, whose candidate is then counted; without one, the
 * text that most devices have is of no interest. */
static void tally_count(struct tally *tally)
{
    int votes = 0;
    for (int i = 0; i < tally->table->row_count; i++) {
        const struct fact *fact = tally_fact(tally, tally->table->rows[i].device);
        if (!fact)
            continue;
        tally->total++;
        if (votes == 0)
            tally->most = fact->text;
        votes += strcmp(fact->text, tally->most) == 0 ? 1 : -1;
    }
    tally->holders = tally->most ? holders_of(tally, tally->most) : 0;
}

struct tallies {
    struct tally *list;
    int count;
};

/* Counts each fact of each group of devices, in the order of the first device that has it. */
static void tallies_count(const struct device_table *table, struct tallies *tallies)
{
    for (int row = 0; row < table->row_count; row++) {
        const struct device *device = table->rows[row].device;
        for (int f = 0; f < device->fact_count; f++) {
            bool counted = !is_compared(&device->facts[f]);
            for (int i = 0; i < tallies->count && !counted; i++)
                counted = tally_fact(&tallies->list[i], device) == &device->facts[f];
            if (counted)
                continue;
            struct tally *tally = LIST_ADD(tallies->list, tallies->count);
            *tally = (struct tally){.table = table, .like = device, .fact = &device->facts[f]};
            tally_count(tally);
        }
    }
}

static bool has_majority(const struct tally *tally)
{
    return 2 * tally->holders > tally->total;
}

static void sentence_put(struct sentences *sentences, const char *kind, const char *text)
{
    *LIST_ADD(sentences->list, sentences->count) =
        (struct difference){.kind = kind, .text = new_text(text)};
}

static void device_name_put(struct text *text, const struct device_table *table, int row)
{
    text_add(text, "%s of host %s", table->rows[row].device->name,
             table->members[table->rows[row].rank].host);
}

static bool is_seen(const struct tally *tally, int row)
{
    const char *text = tally_fact(tally, tally->table->rows[row].device)->text;
    for (int i = 0; i < row; i++) {
        const struct fact *fact = tally_fact(tally, tally->table->rows[i].device);
        if (fact && strcmp(fact->text, text) == 0)
            return true;
    }
    return false;
}

/* "the 4 ports differ in rate: 2 have 100 Gb/s (mlx5_0:1 of host a, ...), 2 have ..." */
static void split_say(const struct tally *tally, struct sentences *sentences)
{
    char buffer[SENTENCE_MOST];
    struct text text = text_in(buffer, sizeof buffer);
    const char *model = tally->fact->scope == FACT_MODEL ? tally->like->model : "";
    int values = 0;
    text_add(&text, "the %d %s%s%ss differ in %s:", tally->total, model, model[0] ? " " : "",
             tally->like->kind, tally->fact->name);
    for (int i = 0; i < tally->table->row_count; i++) {
        const struct fact *fact = tally_fact(tally, tally->table->rows[i].device);
        if (!fact || is_seen(tally, i) || ++values > VALUES_MOST)
            continue;
        int holders = holders_of(tally, fact->text);
        text_add(&text, "%s %d %s %s (", values > 1 ? "," : "", holders,
                 holders == 1 ? "has" : "have", fact->text);
        device_name_put(&text, tally->table, i);
        text_add(&text, "%s)", holders > 1 ? ", ..." : "");
    }
    if (values > VALUES_MOST)
        text_add(&text, ", and %d more values", values - VALUES_MOST);
    sentence_put(sentences, tally->like->kind, buffer);
}

/* In what a device differs: "rate 100 Gb/s (14 of 16 ports have 400 Gb/s), width 1X (...)"; "" in
 * nothing. */
static void device_words(const struct tallies *tallies, const struct device *device, char *words,
                         size_t size)
{
    struct text text = text_in(words, size);
    for (int i = 0; i < tallies->count; i++) {
        const struct tally *tally = &tallies->list[i];
        const struct fact *fact = tally_fact(tally, device);
        const char *model = tally->fact->scope == FACT_MODEL ? tally->like->model : "";
        if (fact && has_majority(tally) && strcmp(fact->text, tally->most) != 0)
            text_add(&text, "%s%s %s (%d of %d %s%s%ss %s %s)", text.used ? ", " : "", fact->name,
                     fact->text, tally->holders, tally->total, model, model[0] ? " " : "",
                     device->kind, tally->holders == 1 ? "has" : "have", tally->most);
    }
}

/* One sentence for all devices that differ in the same words as the one of `row`. */
static void group_say(const struct device_table *table, char (*words)[WORDS_MOST], int row,
                      struct sentences *sentences)
{
    char buffer[SENTENCE_MOST], names[SENTENCE_MOST - WORDS_MOST];
    struct text text = text_in(buffer, sizeof buffer), list = text_in(names, sizeof names);
    const struct device *first = table->rows[row].device;
    int count = 0;
    for (int i = row; i < table->row_count; i++) {
        if (strcmp(words[i], words[row]) != 0 ||
            strcmp(table->rows[i].device->kind, first->kind) != 0 || ++count > NAMED_MOST)
            continue;
        text_add(&list, "%s", count > 1 ? ", " : "");
        device_name_put(&list, table, i);
    }
    if (count > NAMED_MOST)
        text_add(&list, " and %d more", count - NAMED_MOST);
    text_add(&text, "%s%s %s: %s", first->kind, plural(count), names, words[row]);
    sentence_put(sentences, first->kind, buffer);
}

static bool is_said(const struct device_table *table, char (*words)[WORDS_MOST], int row)
{
    for (int i = 0; i < row; i++)
        if (strcmp(words[i], words[row]) == 0 &&
            strcmp(table->rows[i].device->kind, table->rows[row].device->kind) == 0)
            return true;
    return false;
}

struct difference *differences_of(const struct device_table *table)
{
    struct sentences sentences = {0};
    struct tallies tallies = {0};
    char(*words)[WORDS_MOST] = new_array((size_t)table->row_count, sizeof *words);
    tallies_count(table, &tallies);
    for (int i = 0; i < tallies.count; i++)
        if (tallies.list[i].total > 1 && !has_majority(&tallies.list[i]))
            split_say(&tallies.list[i], &sentences);
    for (int i = 0; i < table->row_count; i++)
        device_words(&tallies, table->rows[i].device, words[i], sizeof words[i]);
    for (int i = 0; i < table->row_count; i++)
        if (words[i][0] && !is_said(table, words, i))
            group_say(table, words, i, &sentences);
    free(tallies.list);
    free(words);
    LIST_ADD(sentences.list, sentences.count); /* the end: it has no text */
    return sentences.list;
}

void differences_free(struct difference *differences)
{
    for (int i = 0; differences && differences[i].text; i++)
        free(differences[i].text);
    free(differences);
}
