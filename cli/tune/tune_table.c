/*
 * tune_table.c - prints the winners of `cctest tune` for people.
 */
#include "cli/tune/internal.h"

#include "base/clock.h"
#include "base/size.h"

void tune_table_begin(FILE *out, const struct tuner *tuner)
{
    fprintf(out, "# cctest %s tune, %d ranks on %d host%s, bootstrap %s, %d sizes, at most %g s\n",
            CCTEST_VERSION, tuner->roster->ranks, tuner->roster->host_count,
            tuner->roster->host_count == 1 ? "" : "s", tuner->bootstrap, tuner->race_count,
            tuner->job->budget);
    fflush(out);
}

/* A sorted race. With a model, how many algorithms it pruned. */
static void race_print(FILE *out, const struct tuner *tuner, const struct race *race)
{
    const struct racer *first = &race->racers[0];
    char size[SIZE_TEXT_MOST];
    double low, high, margin = race_margin(race);
    racer_interval(first, &low, &high);
    fprintf(out, "  %-15s %5d %10s  %-24s %10.2f %10.2f %10.2f %6d", race->collective->name,
            race->ranks, race->collective->sized ? size_format(race->bytes, size) : "-",
            first->text, first->time, low, high, first->rounds);
    if (tuner->forecast)
        fprintf(out, " %6d", race->pruned_count);
    if (margin > 0)
        fprintf(out, "  %6.2f  %s\n", margin, race->racers[1].text);
    else
        fprintf(out, "  %6s  %s\n", "-", "-");
}

static void pruned_print(FILE *out, const struct tuner *tuner)
{
    int pruned = 0, measured = 0;
    for (int i = 0; i < tuner->race_count; i++) {
        pruned += tuner->races[i].pruned_count;
        measured += tuner->races[i].count;
    }
    fprintf(out,
            "# the model pruned %d of %d algorithms, which it predicts to be far behind, in %.1f s\n",
            pruned, pruned + measured, tuner->forecast_seconds);
    if (tuner->unpredicted > 0)
        fprintf(out, "# it could not predict %d algorithms, which were not pruned\n",
                tuner->unpredicted);
}

void tune_table_end(FILE *out, const struct tuner *tuner, enum status status)
{
    fprintf(out, "#\n# %-15s %5s %10s  %-24s %10s %10s %10s %6s%s  %6s  %s\n", "collective", "ranks",
            "bytes", "winner", "us", "least", "most", "rounds", tuner->forecast ? " pruned" : "",
            "margin", "before");
    for (int i = 0; i < tuner->race_count; i++)
        if (tuner->races[i].count > 0 && tuner->races[i].racers[0].time > 0 &&
            !tuner->races[i].racers[0].wrong)
            race_print(out, tuner, &tuner->races[i]);
    fprintf(out, "#\n# %d small jobs in %.0f s\n", tuner->jobs,
            tuner->began > 0 ? clock_seconds() - tuner->began : 0);
    if (tuner->forecast)
        pruned_print(out, tuner);
    if (tuner->unmeasured > 0)
        fprintf(out, "# %d of %d sizes were not measured: the %g s of --budget are over\n",
                tuner->unmeasured, tuner->race_count, tuner->job->budget);
    fprintf(out, "# status: %s\n", status_word(status));
    fflush(out);
}
