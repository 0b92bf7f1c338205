/*
 * counts.c - counts from a distribution or a file.
 */
#include "collective/collective.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/text_file.h"

/* A size_t holds the bytes of so many elements of any type. */
#define ELEMENTS_MOST (SIZE_MAX / 64)

/* Reading the option. */

static enum status parameter_read(const char *text, const char *name, double most, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (!isdigit((unsigned char)*text) || *end || errno || !(*value <= most))
        return fail_option(STATUS_USAGE, "counts",
                           "--counts %s:%.40s is not a number from 0 to %g: give one, as in %s:%s",
                           name, text, most, name, most > 1 ? "1.2" : "0.5");
    return STATUS_OK;
}

/* A file that is being read. */
struct counts_file {
    const char *path;
    long line;
    struct counts_spec *spec;
    size_t room, used;
};

static enum status number_add(struct counts_file *file, size_t number)
{
    if (file->used == file->room) {
        file->room = file->room ? 2 * file->room : 256;
        size_t *grown = realloc(file->spec->numbers, file->room * sizeof *grown);
        if (!grown)
            return fail(STATUS_ERROR, "out of memory for the numbers in %s", file->path);
        file->spec->numbers = grown;
    }
    file->spec->numbers[file->used++] = number;
    return STATUS_OK;
}

static enum status file_fail(const struct counts_file *file, const char *text, const char *why)
{
    int length = (int)strcspn(text, " \t\r\n,");
    return fail_line(STATUS_USAGE, file->path, file->line,
                     "'%.*s' %s: give elements, as whole numbers", length > 40 ? 40 : length, text,
                     why);
}

/* The numbers of one line; '#' begins a comment. */
static enum status line_read(struct counts_file *file, const char *text)
{
    size_t before = file->used;
    for (;;) {
        text += strspn(text, " \t\r\n,");
        if (*text == '\0' || *text == '#')
            break;
        if (*text == '-')
            return file_fail(file, text, "is negative");
        char *end;
        errno = 0;
        unsigned long long number = strtoull(text, &end, 10);
        if (!isdigit((unsigned char)*text) || !strchr(" \t\r\n,#", *end))
            return file_fail(file, text, "is not a number");
        if (errno || number > ELEMENTS_MOST)
            return file_fail(file, text, "is too large");
        TRY(number_add(file, (size_t)number));
        text = end;
    }
    size_t columns = file->used - before;
    if (columns == 0)
        return STATUS_OK;
    if (file->spec->rows > 0 && columns != file->spec->columns)
        return fail_line(
            STATUS_USAGE, file->path, file->line,
            "it has %zu numbers, but earlier lines have %zu: give each line a number for each rank",
            columns, file->spec->columns);
    file->spec->rows++;
    file->spec->columns = columns;
    return STATUS_OK;
}

static enum status file_read(const char *path, struct counts_spec *spec)
{
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return fail_option(
            STATUS_USAGE, "counts",
            "--counts '%.200s' is neither a distribution nor a file: give uniform, zipf:S, "
            "hot:F, spread, or a file",
            path);
    struct counts_file file = {.path = path, .spec = spec};
    char *text = NULL;
    enum status status = text_file_read(path, &text);
    char *rest = text;
    while (status == STATUS_OK && rest) {
        char *line = strsep(&rest, "\n");
        file.line++;
        status = line_read(&file, line);
    }
    if (status == STATUS_OK && spec->rows == 0)
        status = fail(STATUS_USAGE, "%.200s holds no numbers: give one for each rank", path);
    free(text);
    return status;
}

enum status counts_read(const char *text, struct counts_spec *spec)
{
    *spec = (struct counts_spec){.distribution = DISTRIBUTION_UNIFORM};
    if (strcmp(text, "uniform") == 0)
        return STATUS_OK;
    spec->distribution = DISTRIBUTION_SPREAD;
    if (strcmp(text, "spread") == 0)
        return STATUS_OK;
    spec->distribution = DISTRIBUTION_ZIPF;
    if (strncmp(text, "zipf:", 5) == 0)
        return parameter_read(text + 5, "zipf", 10, &spec->parameter);
    spec->distribution = DISTRIBUTION_HOT;
    if (strncmp(text, "hot:", 4) == 0)
        return parameter_read(text + 4, "hot", 1, &spec->parameter);
    spec->distribution = DISTRIBUTION_FILE;
    spec->path = text;
    return file_read(text, spec);
}

uint64_t counts_fingerprint(const struct counts_spec *spec)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < spec->rows * spec->columns; i++)
        hash = hash_number(hash, spec->numbers[i]);
    return hash_number(hash, (uint64_t)spec->columns);
}

/* Making counts. */

/* The ranks in the order of their popularity: a shuffle, by the seed. */
static void popularity_draw(uint64_t seed, int ranks, int *order)
{
    for (int i = 0; i < ranks; i++)
        order[i] = i;
    for (int i = ranks - 1; i > 0; i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int other = (int)((seed >> 33) % ((uint64_t)i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* The weight of each rank as a receiver (for spread in a matrix: of each distance). Weights are
 * whole numbers, and zipf's have few digits: two nodes whose mathematical libraries round the last
 * bit of a power differently still get equal weights, almost surely. `order`: an array with an
 * element for each rank. */
static void weights_of(const struct counts_spec *spec, int ranks, uint64_t seed, uint64_t *weights,
                       int *order)
{
    for (int r = 0; r < ranks; r++)
        weights[r] = 1;
    if (spec->distribution == DISTRIBUTION_SPREAD)
        for (int r = 0; r < ranks; r++)
            weights[r] = ranks > 1 ? (uint64_t)r : 1;
    if (spec->distribution == DISTRIBUTION_HOT && ranks > 1) {
        uint64_t hot = (uint64_t)llround(spec->parameter * (1 << 20));
        for (int r = 0; r < ranks; r++)
            weights[r] = r == 0 ? hot * ((uint64_t)ranks - 1) : (1u << 20) - hot;
    }
    if (spec->distribution == DISTRIBUTION_ZIPF) {
        popularity_draw(seed, ranks, order);
        for (int k = 0; k < ranks; k++)
            weights[order[k]] = (uint64_t)llround((1 << 20) / pow(k + 1, spec->parameter));
    }
}

/* before[i] = total * (sum of the weights before i) / (sum of all). Rounding errors do not add up:
 * the last one is exactly `total`. */
static void cut_by_weights(const uint64_t *weights, int ranks, size_t total, size_t *before)
{
    unsigned __int128 sum = 0, so_far = 0;
    for (int r = 0; r < ranks; r++)
        sum += weights[r];
    for (int r = 0; r <= ranks; r++) {
        before[r] = sum ? (size_t)(so_far * total / sum) : 0;
        if (r < ranks)
            so_far += weights[r];
    }
}

/* before[i]: the sum of the numbers before i; false: too large. */
static bool sum_up(const size_t *numbers, int ranks, size_t *before)
{
    before[0] = 0;
    for (int r = 0; r < ranks; r++)
        if (__builtin_add_overflow(before[r], numbers[r], &before[r + 1]) ||
            before[r + 1] > ELEMENTS_MOST)
            return false;
    return true;
}

static enum status file_fits(const struct counts_spec *spec, enum counts_kind kind, int ranks)
{
    size_t p = (size_t)ranks;
    bool matrix = kind == COUNTS_MATRIX;
    if (matrix ? spec->rows == p && spec->columns == p : spec->rows * spec->columns == p)
        return STATUS_OK;
    return fail(
        STATUS_USAGE,
        matrix
            ? "%.200s holds %zu line%s of %zu numbers, but %d ranks need as many lines and as many "
              "numbers in each: change the number of ranks, or the file"
            : "%.200s holds %zu line%s of %zu numbers, but %d ranks need one number each: change "
              "the number of ranks, or the file",
        spec->path, spec->rows, plural(spec->rows), spec->columns, ranks);
}

static enum status counts_from_file(const struct counts_spec *spec, struct counts *counts)
{
    int p = counts->ranks;
    TRY(file_fits(spec, counts->kind, p));
    for (int row = 0; row < (counts->kind == COUNTS_MATRIX ? p : 1); row++)
        if (!sum_up(spec->numbers + (size_t)row * (size_t)p, p,
                    counts->before + (size_t)row * ((size_t)p + 1)))
            return fail(STATUS_USAGE,
                        "%.200s: the sum of the numbers of rank %d is too large: make them smaller",
                        spec->path, row);
    return STATUS_OK;
}

static enum status counts_from_weights(const struct counts_spec *spec, size_t total, uint64_t seed,
                                       struct counts *counts)
{
    int p = counts->ranks;
    uint64_t *weights = malloc((size_t)p * sizeof *weights);
    int *order = malloc((size_t)p * sizeof *order);
    if (!weights || !order) {
        free(weights);
        free(order);
        return fail(STATUS_ERROR, "out of memory for the counts of %d ranks", p);
    }
    weights_of(spec, p, seed, weights, order);
    cut_by_weights(weights, p, total, counts->before);
    counts->rotated = counts->kind == COUNTS_MATRIX && spec->distribution == DISTRIBUTION_SPREAD;
    free(weights);
    free(order);
    size_t most = 0;
    for (int r = 0; r < p; r++)
        most = counts_of_row(counts, r, 1) > most ? counts_of_row(counts, r, 1) : most;
    if (counts->kind == COUNTS_MATRIX && !counts->rotated && most > ELEMENTS_MOST / (size_t)p)
        return fail_option(
            STATUS_USAGE, "counts",
            "--counts: one rank receives too many elements in all: ask for smaller sizes");
    return STATUS_OK;
}

/* The receivers' columns of the matrix, from the senders' rows. */
static enum status matrix_turn(const struct counts_spec *spec, struct counts *counts)
{
    size_t p = (size_t)counts->ranks;
    for (size_t to = 0; to < p; to++) {
        size_t *column = counts->received + to * (p + 1);
        column[0] = 0;
        for (size_t from = 0; from < p; from++) {
            const size_t *row = counts->before + from * (p + 1);
            if (__builtin_add_overflow(column[from], row[to + 1] - row[to], &column[from + 1]) ||
                column[from + 1] > ELEMENTS_MOST)
                return fail(
                    STATUS_USAGE,
                    "%.200s: the sum of what rank %zu receives is too large: make it smaller",
                    spec->path, to);
        }
    }
    return STATUS_OK;
}

enum status counts_create(const struct counts_spec *spec, enum counts_kind kind, int ranks,
                          size_t total, uint64_t seed, struct counts **counts)
{
    bool full = kind == COUNTS_MATRIX && spec->distribution == DISTRIBUTION_FILE;
    size_t p = (size_t)ranks, rows = full ? p : 1;
    struct counts *made = calloc(1, sizeof *made);
    *counts = NULL;
    if (made) {
        *made = (struct counts){.kind = kind, .ranks = ranks};
        made->before = malloc(rows * (p + 1) * sizeof *made->before);
        if (full)
            made->received = malloc(rows * (p + 1) * sizeof *made->received);
    }
    if (!made || !made->before || (full && !made->received)) {
        counts_free(made);
        return fail(STATUS_ERROR, "out of memory for the counts of %d ranks", ranks);
    }
    enum status status = spec->distribution == DISTRIBUTION_FILE
                             ? counts_from_file(spec, made)
                             : counts_from_weights(spec, total, seed, made);
    if (status == STATUS_OK && full)
        status = matrix_turn(spec, made);
    if (status == STATUS_OK)
        *counts = made;
    else
        counts_free(made);
    return status;
}

enum status counts_of_partners(int ranks, int (*partner)(const void *context, int rank, int ranks),
                               const void *context, struct counts **counts)
{
    struct counts *made = calloc(1, sizeof *made);
    int *both = malloc(2 * (size_t)ranks * sizeof *both);
    *counts = made;
    if (!made || !both) {
        free(made);
        free(both);
        *counts = NULL;
        return fail(STATUS_ERROR, "out of memory for the partners of %d ranks", ranks);
    }
    *made =
        (struct counts){.kind = COUNTS_PARTNERS, .ranks = ranks, .to = both, .from = both + ranks};
    for (int r = 0; r < ranks; r++)
        made->from[r] = -1;
    for (int r = 0; r < ranks; r++) {
        made->to[r] = partner(context, r, ranks);
        if (made->to[r] >= 0)
            made->from[made->to[r]] = r;
    }
    return STATUS_OK;
}

size_t counts_mean(const struct counts *counts)
{
    size_t p = (size_t)counts->ranks, rows = counts->received ? p : 1, blocks = p * rows;
    unsigned __int128 sum = 0;
    for (size_t row = 0; row < rows; row++)
        sum += counts->before[row * (p + 1) + p];
    return (size_t)((sum + blocks - 1) / blocks);
}

void counts_free(struct counts *counts)
{
    if (!counts)
        return;
    free(counts->before);
    free(counts->received);
    free(counts->to);
    free(counts);
}
