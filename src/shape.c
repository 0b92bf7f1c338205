/*
 * shape.c - groups of ranks.
 */
#include "shape.h"

#include <stdio.h>
#include <stdlib.h>

/* Numbers the groups in the order of their first ranks. Returns how many there are. */
static int groups_number(struct shape *shape, const int *group_of_rank)
{
    int groups = 0;
    for (int r = 0; r < shape->ranks; r++) {
        int first = r;
        for (int before = 0; before < groups;
             before++) /* start[]: the first rank of each, so far */
            if (group_of_rank[shape->start[before]] == group_of_rank[r])
                first = shape->start[before];
        if (first == r)
            shape->start[groups++] = r;
        shape->group[r] = first == r ? groups - 1 : shape->group[first];
    }
    return groups;
}

struct shape *shape_create(const int *group_of_rank, int ranks)
{
    size_t count = (size_t)ranks;
    struct shape *shape = malloc(sizeof *shape);
    int *numbers = malloc((4 * count + 1) * sizeof *numbers);
    if (!shape || !numbers) {
        free(shape);
        free(numbers);
        return NULL;
    }
    *shape = (struct shape){.ranks = ranks,
                            .group = numbers,
                            .place = numbers + count,
                            .members = numbers + 2 * count,
                            .start = numbers + 3 * count,
                            .uniform = true};
    shape->groups = groups_number(shape, group_of_rank);
    int filled = 0;
    for (int g = 0; g < shape->groups; g++) {
        shape->start[g] = filled;
        for (int r = 0; r < ranks; r++) {
            if (shape->group[r] != g)
                continue;
            shape->place[r] = filled - shape->start[g];
            shape->members[filled++] = r;
        }
    }
    shape->start[shape->groups] = filled;
    for (int g = 1; g < shape->groups; g++)
        shape->uniform &= shape_size(shape, g) == shape_size(shape, 0);
    return shape;
}

static void sizes_text(const int *sizes, int count, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? "+%d" : "%d", sizes[i]);
}

struct shape *shape_of_sizes(const int *sizes, int count, int ranks, char *why, size_t size)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += sizes[i];
    if (count == 1 && ranks % sizes[0] != 0) {
        snprintf(why, size, "groups of %d ranks do not divide %d ranks: list the sizes, as in 2+3",
                 sizes[0], ranks);
        return NULL;
    }
    if (count > 1 && sum != ranks) {
        char text[80];
        sizes_text(sizes, count, text, sizeof text);
        snprintf(why, size, "groups of %s make %ld ranks, not %d: let them add up", text, sum,
                 ranks);
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
        snprintf(why, size, "there is no memory for the groups of %d ranks", ranks);
    return shape;
}

void shape_free(struct shape *shape)
{
    if (shape)
        free(shape->group);
    free(shape);
}
