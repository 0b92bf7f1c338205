/*
 * tune.h - the interface of tune/.
 */
#ifndef CCTEST_TUNE_TUNE_H
#define CCTEST_TUNE_TUNE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/json_field.h"
#include "base/status.h"
#include "collective/collective.h"
#include "collective/schedule/schedule.h"
#include "controlplane/agents/agents.h"
#include "predict/predict.h"
#include "run/run.h"

/* ---- names.c ---- */

/* "bruck:radix=4": the name and the options of an algorithm, from a result in JSON (of parts the
 * name alone). Control characters, which a file may hold and a terminal obeys, become '?'. Returns
 * `text`. */
#define ALGORITHM_TEXT_MOST 160
const char *algorithm_text(const json_t *result, char text[ALGORITHM_TEXT_MOST]);

/* Replaces the control characters of a text. */
void text_tame(char *text);

/* ---- Which algorithms of one collective, number of ranks and size are measured again, and which
 * is the winner.
 *
 * Rounds: in each the racers are measured one after the other, by a job of their own, so that slow
 * noise and the luck of a start hit all of them, and none in all rounds (S. Hunold and A.
 * Carpen-Amarie, Reproducible MPI Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27(12),
 * 2016). After each round the slower half is out, and whatever is far behind: successive halving
 * (Z. Karnin, T. Koren and O. Somekh, Almost Optimal Exploration in Multi-Armed Bandits, ICML
 * 2013), with two racers left at least, so that the winner's margin is known. A model may prune
 * algorithms before the first round.
 *
 * One round may be slower than another for all racers. The level of a round is the median, over the
 * racers that were in all rounds, of their time in it over their own median. The time of a racer is
 * the median of its times over the levels of their rounds. So a racer that was put out after a slow
 * round is not slow for that; it is no faster than those that stayed, either, however lucky its few
 * rounds were.
 *
 * Pure: no clock, no processes.
 * ---- */

#define ROUNDS_MOST     9
#define RACER_TEXT_MOST 160
#define RACERS_MOST     128

struct racer {
    char text[RACER_TEXT_MOST]; /* as -a takes it */
    double times[ROUNDS_MOST];  /* us: the median of the iterations of each round, from the first */
    double time;                /* us, as of race_times(); 0: it was not measured */
    double least;               /* us: of all iterations; 0: none */
    int rounds;                 /* that it was measured in */
    bool out;                   /* it is measured no more */
    bool wrong;                 /* its data was; then it is out, too */
};

/* An algorithm before its first measurement, with what a model says of it. */
struct entrant {
    char text[RACER_TEXT_MOST]; /* as -a takes it */
    double predicted;           /* us; 0: not known */
    bool far;                   /* predicted to be far behind the best */
};

struct race {
    const struct collective *collective;
    int ranks, nodes;
    size_t asked, bytes; /* of the sweep; as it became, 0 before the first round */
    struct racer *racers;
    int count;
    int rounds;
    struct entrant *pruned; /* that were not measured, since a model leaves them far behind */
    int pruned_count;
    char transport[64]; /* that connected the ranks: "shm", "shm+tcp"; "" before the first round */
    double guess;       /* us: what an iteration may take, before the first round; 0: not known */
};

/* The racer of this name; a new one if there is none. NULL: there are too many. */
struct racer *race_racer(struct race *race, const char *text);

/* Enters one more round: the median of its iterations and the least of them, us. A least that is
 * not above 0 is not known, and that of the rounds before stays. */
void racer_round_add(struct racer *racer, double time, double least);

void race_free(struct race *race);

/* Finds the time of each racer, by the rounds so far. */
void race_times(struct race *race);

/* The least and greatest of its rounds, over their median, times its time. Of 6 rounds or more it
 * is an interval of the median of 95% at least: 1 - 2/2^6. */
void racer_interval(const struct racer *racer, double *low, double *high);

/* Marks what is predicted to take more than 3 times as long as the best prediction; not among the 3
 * fastest, and never an algorithm of which nothing is predicted. How many winners that costs:
 * tests/bench/README.md. */
void entrants_prune(struct entrant *entrants, int count);

/* After a round: finds the times, and puts out the slower half, and what is far behind even in its
 * best iteration. In the first two rounds, none is out whose best iteration is as fast as the
 * median of the best, nor one that was near the best at the next smaller size (`last`; NULL: there
 * is none): a job that something disturbs may be slow in all of its iterations. */
void race_prune(struct race *race, const struct race *last);

/* Racers that are not out. */
int race_left(const struct race *race);

/* Is another round of no use: there were enough, or one racer is left? */
bool race_is_settled(const struct race *race);

/* The best first: those that are not out, then the others; wrong ones, and those without a time,
 * last. */
void race_sort(struct race *race);

/* The time of the second over that of the first, of a sorted race; 0: there is no second. */
double race_margin(const struct race *race);

/* How many iterations a round of a racer of that time (us) has: many of a short one, few of a long
 * one. */
long round_iterations(double time);

/* Is a racer worth a measurement at a size, after its times at the two next smaller ones (the
 * smaller first; NULL: there is none)? Not if it was far behind at the last, was behind at the one
 * before, and the trend of the two leaves it far behind. */
bool racer_is_hopeful(const char *text, const struct race *before, const struct race *last);

/* ---- What `cctest tune` was asked for, beside what it shares with a run. ---- */

#define TUNE_RANKS_MOST 64

struct tune_options {
    int ranks[TUNE_RANKS_MOST]; /* --ranks, ascending, each once */
    int rank_count;             /* 0: not given */
    /* Where the winners go in the form of other libraries: a file, "-" for stdout, or NULL. */
    const char *ompi, *mpich, *nccl;
};

/* ---- The state of a tuning run at rank 0: types only. ---- */

struct tune_report;
struct tuner;
struct forecast;

struct tuner {
    const struct job *job;
    const struct tune_options *asked;
    const char *options; /* of every small job, each behind a blank */
    const char *bootstrap;
    struct tune_report *report;
    struct forecast *forecast; /* NULL: none */
    double forecast_seconds;   /* that it took so far */
    int unpredicted;           /* algorithms of which it said nothing */
    struct coordinator *coordinator;
    const struct roster *roster;
    struct race *races; /* in the order of the table: by collective, ranks and size */
    int race_count;
    int unmeasured;    /* races that the time did not suffice for */
    int jobs, failed;  /* small jobs so far, and those of them that failed */
    long wrong;        /* lines with wrong data */
    double began, end; /* clock_seconds(); `end`: of the budget */
    char why[400];     /* the first job that failed: a sentence */
};

/* Takes what is known, in rank 0's only thread. */
struct tune_report {
    /* Fails if the results cannot be written: nothing runs then. */
    enum status (*begin)(struct tune_report *report, const struct tuner *tuner);
    /* Before each small job: of which race, and in which of its rounds. */
    void (*running)(struct tune_report *report, const struct tuner *tuner, const struct race *race);
    /* All races have had a round more. */
    void (*round)(struct tune_report *report, const struct tuner *tuner);
    /* Returns the final status, a worse one if the results could not be written. */
    enum status (*end)(struct tune_report *report, const struct tuner *tuner, enum status status);
};

/* ---- What a model says of the algorithms that `cctest tune` is to measure (--model). ---- */

struct forecast {
    const struct job *job;
    struct predictor predictor;
};

/* Reads the model of the job. Errors as of model_read(), and STATUS_USAGE if no model knows the
 * job's memory. */
enum status forecast_open(struct forecast *forecast, const struct job *job);
void forecast_close(struct forecast *forecast); /* zeroed is allowed */

/* ---- What must not be: a collective that is slower than others that do its work.
 *
 * A collective can be emulated by others, or by itself on more data. If the emulation is faster,
 * the collective has no business being slower: a user would write the emulation. These are the
 * self-consistent performance guidelines of J. L. Traff, W. D. Gropp and R. Thakur (Self-Consistent
 * MPI Performance Guidelines, IEEE TPDS 21(5), 2010), and their check on measurements of S. Hunold,
 * A. Carpen-Amarie, F. D. Lubbe and J. L. Traff (Automatic Verification of Self-Consistent MPI
 * Performance Guidelines, Euro-Par 2016).
 *
 * Sizes are cctest's: bytes of the larger buffer of one rank. With these every emulation has the
 * size of what it emulates: allgather's n is what a rank receives, reduce_scatter's n what it
 * gives, a root's gather and scatter move n in all. Sizes that do not divide are rounded up to
 * whole blocks, by a block's element for each rank at most, so sizes that differ by less count as
 * one. An emulation of a larger size does more work, and if it is faster it is so all the more.
 *
 * Pure: no files, no clock.
 * ---- */

/* Slower by less than this share is no matter, whatever the intervals say: slow noise, which they
 * do not see, makes them too narrow. */
#define GUIDELINE_MARGIN 0.05

/* A time of one collective, algorithm and size. Texts belong to the caller. */
struct timed_line {
    const struct collective *collective;
    const char *algorithm; /* "bruck:radix=4" */
    const char
        *setting;   /* all else that lines must have in common to be compared: "4 ranks, float" */
    const char *op; /* "": the collective has none */
    int ranks;
    size_t bytes, element; /* the size; bytes of an element */
    double time;           /* us: the median */
    double low, high; /* us: its interval of 95%; of few iterations the least and greatest time; of
                              a predicted one the time itself */
};

enum guideline {
    GUIDELINE_SEQUENCE, /* not slower than one or two collectives that do its work */
    GUIDELINE_SMALLER,  /* not slower than the same on more data */
    GUIDELINE_SPLIT,    /* not slower than several times the same on less */
    GUIDELINE_OWN,      /* as SMALLER, of one algorithm that is not the best */
    GUIDELINES
};
extern const char *const guideline_words[GUIDELINES]; /* for JSON */

/* A collective that may stand for `whole`, or with `second` behind it. */
struct emulation {
    enum collective_id whole, first;
    int second; /* -1: none */
};
extern const struct emulation emulations[]; /* ended by one whose `second` is -2 */
#define EMULATIONS_END (-2)

#define INSTEAD_MOST 2

/* Lines are indices of the list that was compared. */
struct violation {
    enum guideline guideline;
    size_t line;
    size_t best;                  /* of its collective and size; mostly itself */
    size_t instead[INSTEAD_MOST]; /* of OWN: the larger size */
    int instead_count;
    int times;    /* how often `instead` runs: more than 1 if the data is split */
    double bound; /* us: what `instead` takes in all */
    double ratio; /* of the line's time to that */
};

/* Finds the violations that are beyond noise: the line's interval lies above that of what could be
 * run instead, and its time is larger by GUIDELINE_MARGIN. Of each collective and size the best
 * algorithm is judged, by the worst violation of each guideline; the others only by GUIDELINE_OWN.
 * The worst comes first. The caller frees *violations. STATUS_ERROR: out of memory. */
enum status guidelines_check(const struct timed_line *lines, size_t count,
                             struct violation **violations, size_t *found);

/* "allreduce 64K, 4 ranks, float sum: 812 us (ring), 1.42 times reduce then broadcast, 571 us: use
 * reduce rabenseifner then broadcast chain". Returns `text`. */
#define VIOLATION_TEXT_MOST 640
const char *violation_text(const struct timed_line *lines, const struct violation *violation,
                           char text[VIOLATION_TEXT_MOST]);

/* ---- Which algorithm is the fastest, for each collective, number of ranks and size: measured on a
 * fleet of agents (controlplane/agents/agents.h) by small jobs, one after the other.
 *
 * Each number of ranks has jobs of its own, on the agents with the lowest ranks, as a job of that
 * size would have. The first round of a size has all algorithms that may win (tune/internal.h), and
 * checks every byte. Later rounds have what is left (tune/tune.h), until all races are settled or
 * the time is over.
 * ---- */

struct tuner_arguments {
    const struct job *job;
    const struct tune_options *asked;
    const char *options;
    struct forecast *forecast; /* rank 0; NULL: none */
    struct agent_config agents;
    struct tune_report *report; /* rank 0 */
};

/* Runs an agent, or as rank 0 the races; a rank_main whose argument is a struct tuner_arguments.
 * STATUS_WRONG_DATA if any algorithm had wrong data, STATUS_ERROR if nothing could be measured. */
enum status tuner_run(const struct membership *membership, void *arguments);

/* ---- The JSON of `cctest tune`, as what auto picks by. ---- */

/* Reads a document of `cctest tune`; `path`, which lasts longer than *tuned, names it in sentences.
 * The caller frees *tuned with tuned_free(). STATUS_USAGE, with the reason: cut off, no JSON, of
 * another command, an unknown algorithm, a number that cannot be. */
enum status tuning_file_read(const char *path, struct tuned **tuned);

/* The same of a document that has been read. */
enum status tuning_document_read(const char *path, const json_t *document, struct tuned **tuned);

/* The document, which tuning_file_read() reads. `options` is taken over; `status` NULL: it runs.
 * NULL: out of memory. */
json_t *tuning_json(const struct tuner *tuner, json_t *options, const enum status *status);

/* ---- The keys of the JSON of `cctest tune` (tuning_file.c). ---- */

extern const struct json_field tune_fields[], tuned_cell_fields[], tuned_algorithm_fields[];
extern const struct json_field pruned_algorithm_fields[];

#endif
