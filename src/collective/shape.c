/*
 * shape.c - groups of ranks.
 */
#include "collective/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

/* A rank and its group, as the caller numbers it. */
struct grouped_rank {
    int group, rank;
};

static int grouped_rank_compare(const void *x, const void *y)
{
    const struct grouped_rank *a = x, *b = y;
    return COMPARE(a->group, b->group) ?: COMPARE(a->rank, b->rank);
}

/* Numbers the groups in the order of their first ranks: sets shape->group and shape->groups.
 * `sorted`: an array with an element for each rank. */
static void groups_number(struct shape *shape, const int *group_of_rank,
                          struct grouped_rank *sorted)
{
    int ranks = shape->ranks;
    for (int r = 0; r < ranks; r++)
        sorted[r] = (struct grouped_rank){.group = group_of_rank[r], .rank = r};
    qsort(sorted, (size_t)ranks, sizeof *sorted, grouped_rank_compare);
    for (int i = 0, first = 0; i < ranks;
         i++) { /* for now, a rank's group is the first rank of it */
        if (i > 0 && sorted[i].group != sorted[i - 1].group)
            first = i;
        shape->group[sorted[i].rank] = sorted[first].rank;
    }
    for (int r = 0; r < ranks; r++) /* a group's first rank comes before its others */
        shape->group[r] = shape->group[r] == r ? shape->groups++ : shape->group[shape->group[r]];
}

struct shape *shape_create(const int *group_of_rank, int ranks)
{
    size_t count = (size_t)ranks;
    struct shape *shape = malloc(sizeof *shape);
    int *numbers = calloc(4 * count + 2, sizeof *numbers);
    struct grouped_rank *sorted = malloc((count + 1) * sizeof *sorted);
    if (!shape || !numbers || !sorted) {
        free(shape);
        free(numbers);
        free(sorted);
        return NULL;
    }
    *shape = (struct shape){.ranks = ranks,
                            .group = numbers,
                            .local_rank = numbers + count,
                            .members = numbers + 2 * count,
                            .start = numbers + 3 * count,
                            .uniform = true};
    groups_number(shape, group_of_rank, sorted);
    free(sorted);
    for (int r = 0; r < ranks; r++) /* start[g + 1]: the size of group g, for now */
        shape->local_rank[r] = shape->start[shape->group[r] + 1]++;
    for (int g = 0; g < shape->groups; g++)
        shape->start[g + 1] += shape->start[g];
    for (int r = 0; r < ranks; r++)
        shape->members[shape->start[shape->group[r]] + shape->local_rank[r]] = r;
    for (int g = 1; g < shape->groups; g++)
        shape->uniform &= shape_size(shape, g) == shape_size(shape, 0);
    return shape;
}

struct shape *shape_of_sizes(const int *sizes, int count, int ranks, char *why, size_t size)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += sizes[i];
    if (count == 1 && ranks % sizes[0] != 0) {
        snprintf(why, size,
                 "%d ranks cannot be divided into groups of %d: list the sizes, as in 2+3", ranks,
                 sizes[0]);
        return NULL;
    }
    if (count > 1 && sum != ranks) {
        char buffer[80];
        struct text text = text_in(buffer, sizeof buffer);
        for (int i = 0; i < count; i++)
            text_add(&text, i ? "+%d" : "%d", sizes[i]);
        snprintf(why, size,
                 "groups of %s ranks add up to %ld, but there are %d ranks: change the sizes",
                 buffer, sum, ranks);
        return NULL;
    }
    int *group = malloc((size_t)ranks * sizeof *group);
    struct shape *shape = NULL;
    for (int r = 0, g = 0, left = sizes[0]; group && r < ranks; r++, left--) {
        if (left == 0)
            left = sizes[count == 1 ? 0 : g + 1], g++;
        group[r] = g;
    }
    if (group)
        shape = shape_create(group, ranks);
    free(group);
    if (!shape)
        snprintf(why, size, "out of memory for the groups of %d ranks", ranks);
    return shape;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->ranks == b->ranks &&
           memcmp(a->group, b->group, (size_t)a->ranks * sizeof *a->group) == 0;
}

void shape_free(struct shape *shape)
{
    if (shape)
        free(shape->group);
    free(shape);
}
