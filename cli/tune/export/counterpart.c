/*
 * counterpart.c - which algorithm of another library does what a winner does.
 */
#include "cli/tune/export/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "base/text.h"

#define PLACES_SHOWN 6 /* of a winner that a library lacks */

static const struct counterpart *counterpart_find(const struct tuned *tuned,
                                                  const struct peer_library *library,
                                                  const struct tuned_cell *cell,
                                                  const struct choice *choice)
{
    for (const struct counterpart *it = library->table; it->algorithm; it++)
        if (it->collective == cell->collective->id &&
            strcmp(it->algorithm, choice->algorithm->name) == 0 &&
            (!it->option || choice_option(choice, it->option) == it->value) &&
            (!library->runs || library->runs(it, tuned, cell)))
            return it;
    return NULL;
}

/* The fastest that the library has. */
static struct export_pick pick_of(const struct tuned *tuned, const struct peer_library *library,
                                  const struct tuned_cell *cell)
{
    struct export_pick pick = {.cell = cell};
    for (int a = 0; a < cell->count && !pick.counterpart; a++) {
        pick.algorithm = &cell->algorithms[a];
        pick.counterpart = counterpart_find(tuned, library, cell, &cell->algorithms[a].choice);
    }
    if (!pick.counterpart)
        pick.algorithm = NULL;
    return pick;
}

static int pick_compare(const void *a, const void *b)
{
    const struct export_pick *x = a, *y = b;
    return (x->cell->bytes > y->cell->bytes) - (x->cell->bytes < y->cell->bytes);
}

int export_picks(const struct tuned *tuned, const struct peer_library *library,
                 enum collective_id collective, int ranks, struct export_pick **picks)
{
    int count = 0;
    *picks = calloc(tuned->count + 1, sizeof **picks);
    for (size_t c = 0; *picks && c < tuned->count; c++)
        if (tuned->cells[c].collective->id == collective && tuned->cells[c].ranks == ranks)
            (*picks)[count++] = pick_of(tuned, library, &tuned->cells[c]);
    if (count > 0)
        qsort(*picks, (size_t)count, sizeof **picks, pick_compare);
    return count;
}

int export_ranks(const struct tuned *tuned, enum collective_id collective,
                 int ranks[EXPORT_RANKS_MOST])
{
    int count = 0;
    for (size_t c = 0; c < tuned->count; c++) {
        int at = 0, mine = tuned->cells[c].ranks;
        if (tuned->cells[c].collective->id != collective)
            continue;
        while (at < count && ranks[at] < mine)
            at++;
        if ((at < count && ranks[at] == mine) || count == EXPORT_RANKS_MOST)
            continue;
        memmove(&ranks[at + 1], &ranks[at], (size_t)(count - at) * sizeof *ranks);
        ranks[at] = mine;
        count++;
    }
    return count;
}

size_t export_boundary(size_t below, size_t above)
{
    size_t middle = (size_t)ceil(sqrt((double)below * (double)above));
    return middle > below ? middle : below + 1;
}

/* The winner that the library lacks, or NULL. */
static const struct tuned_algorithm *lacking_in(const struct tuned *tuned,
                                                const struct peer_library *library,
                                                const struct tuned_cell *cell)
{
    const struct tuned_algorithm *winner = &cell->algorithms[0];
    return pick_of(tuned, library, cell).algorithm == winner ? NULL : winner;
}

/* "64K on 4 ranks (ring, 1.12 times as long)". */
static void place_add(struct text *text, const struct tuned *tuned,
                      const struct peer_library *library, const struct tuned_cell *cell)
{
    struct export_pick pick = pick_of(tuned, library, cell);
    char size[SIZE_TEXT_MOST];
    text_add(text, "%s%s on %d ranks", text->used > 0 ? ", " : "",
             cell->collective->sized ? size_format(cell->bytes, size) : "any", cell->ranks);
    if (pick.algorithm)
        text_add(text, " (gets %s, %.2f times as long)", pick.algorithm->text,
                 pick.algorithm->time / cell->algorithms[0].time);
    else
        text_add(text, " (it decides)");
}

/* All cells of a collective that the same winner has, said once, at the first. */
static void lacking_say(const struct tuned *tuned, const struct peer_library *library, size_t first)
{
    const struct tuned_cell *cell = &tuned->cells[first];
    const struct tuned_algorithm *winner = lacking_in(tuned, library, cell);
    char places[600] = "";
    struct text text = text_in(places, sizeof places);
    int shown = 0;
    for (size_t c = 0; winner && c < tuned->count; c++) {
        const struct tuned_cell *other = &tuned->cells[c];
        const struct tuned_algorithm *it = lacking_in(tuned, library, other);
        if (!it || other->collective != cell->collective || strcmp(it->text, winner->text) != 0)
            continue;
        if (c < first)
            return;
        if (shown++ < PLACES_SHOWN)
            place_add(&text, tuned, library, other);
    }
    if (shown > PLACES_SHOWN)
        text_add(&text, " and %d more", shown - PLACES_SHOWN);
    if (winner)
        say("%s lacks %s %s, the fastest at %s", library->name, cell->collective->name,
            winner->text, places);
}

void export_say_lacking(const struct tuned *tuned, const struct peer_library *library)
{
    for (size_t c = 0; c < tuned->count; c++)
        lacking_say(tuned, library, c);
}
