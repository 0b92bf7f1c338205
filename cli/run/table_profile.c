/*
 * table_profile.c - prints the ranks' time by activity, below a line of the table.
 *
 *     #   profile of ring, 64K:  rank    copy  reduce    peer  credit   other          us
 *     #                             0   31.2%   22.9%   41.0%    0.0%    4.9%       28.11
 *
 * One row a rank. Of many ranks: the spread, and the ranks at its ends.
 */
#include "cli/run/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "run/run.h"

#define RANKS_SHOWN 16 /* more than these are summed up */
#define COLUMNS     (ACTIVITIES + 1)

static const struct {
    const char *title;
    enum activity activity;
} shares[ACTIVITIES] = {
    {"copy", PROFILE_COPY},     {"reduce", PROFILE_REDUCE},     {"peer", PROFILE_PEER},
    {"credit", PROFILE_CREDIT}, {"other", PROFILE_BOOKKEEPING},
};

/* A number of a column: a share, or in the last one the microseconds. */
static double column_value(const struct rank_profile *profile, int column)
{
    return column < ACTIVITIES ? profile->share[shares[column].activity] : profile->time_us;
}

static void print_value(FILE *out, int column, double value)
{
    if (column < ACTIVITIES)
        fprintf(out, "  %5.1f%%", value * 100);
    else
        fprintf(out, " %11.2f", value);
}

static void print_titles(FILE *out)
{
    for (int column = 0; column < ACTIVITIES; column++)
        fprintf(out, "  %6s", shares[column].title);
    fprintf(out, " %11s\n", "us");
}

/* A rank and its number in one column. */
struct rank_value {
    int rank;
    double value;
};

static int compare_values(const void *a, const void *b)
{
    const struct rank_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->rank - y->rank;
}

static void print_spread(FILE *out, int indent, const struct result *result)
{
    static const char *const rows[] = {"least", "median", "most", "least at", "most at"};
    struct rank_value *sorted = malloc((size_t)result->ranks * sizeof *sorted);
    struct rank_value picked[COLUMNS][3];
    if (!sorted) {
        say("not enough memory to sum up the profile of %d ranks", result->ranks);
        return;
    }
    for (int column = 0; column < COLUMNS; column++) {
        for (int r = 0; r < result->ranks; r++)
            sorted[r] = (struct rank_value){r, column_value(&result->profile[r], column)};
        qsort(sorted, (size_t)result->ranks, sizeof *sorted, compare_values);
        picked[column][0] = sorted[0];
        picked[column][1] = sorted[(result->ranks - 1) / 2];
        picked[column][2] = sorted[result->ranks - 1];
    }
    free(sorted);
    for (int row = 0; row < 5; row++) {
        fprintf(out, "# %*s", indent, rows[row]);
        for (int column = 0; column < COLUMNS; column++) {
            if (row < 3)
                print_value(out, column, picked[column][row].value);
            else
                fprintf(out, column < ACTIVITIES ? "  %6d" : " %11d",
                        picked[column][row == 3 ? 0 : 2].rank);
        }
        fputc('\n', out);
    }
}

void profile_print(FILE *out, const struct job *job, const struct result *result)
{
    if (!result->profile)
        return;
    const struct candidate *candidate = &job->candidates[result->choice];
    char size[SIZE_TEXT_MOST] = "", title[CANDIDATE_TITLE_MOST];
    bool sized = candidate->collective->sized, many = result->ranks > RANKS_SHOWN;
    candidate_title(job, candidate, title);
    int indent =
        fprintf(out, "#   profile of %s%s%s:", job_is_one_contest(job) ? candidate->text : title,
                sized ? ", " : "", sized ? size_format(result->bytes, size) : "");
    indent += fprintf(out, "  %s", many ? "ranks" : "rank") - 2;
    print_titles(out);
    if (many) {
        print_spread(out, indent, result);
        return;
    }
    for (int r = 0; r < result->ranks; r++) {
        fprintf(out, "# %*d", indent, r);
        for (int column = 0; column < COLUMNS; column++)
            print_value(out, column, column_value(&result->profile[r], column));
        fputc('\n', out);
    }
}
