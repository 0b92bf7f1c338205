/*
 * options.h - the option table.
 */
#ifndef CCTEST_CLI_OPTIONS_OPTIONS_H
#define CCTEST_CLI_OPTIONS_OPTIONS_H

#include <jansson.h>

#include "accept/accept.h"
#include "base/parse.h"
#include "run/run.h"
#include "tune/tune.h"

/* ---- What a command line asks for: a job, and what each command has of its own. ---- */

/* Where results go: a file, "-" for standard output, or NULL. */
struct output_files {
    const char *json, *csv, *samples, *svg, *html;
    const char *output; /* fit: the model */
};

/* predict and info. */
struct predict_options {
    const char *topology, *place; /* NULL: not given */
    bool shows_topology;          /* info --topology */
};

/* plan: schedules for other tools, as files like those of output_files. */
struct plan_options {
    const char *goal, *msccl;
    double calc; /* nanoseconds a byte */
};

struct command_line;

struct request {
    const struct command_line *line; /* that asks for it; NULL: a job of an agent has none */
    struct job job;                  /* of a run; the other commands share a part of it */
    struct output_files files;
    struct predict_options predict;
    struct plan_options plan;
    struct accept_options accept;
    struct tune_options tune;
};

/* ---- A row of the option table, and a value that the user gave.
 *
 * A row says everything about an option: how it is written, what it means, how its value is read,
 * which field of struct job it sets, and whether all ranks must agree on it. The command line, the
 * environment (CCTEST_<LONG_OPTION>), `cctest help`, the manual, completions of shells, the
 * "options" of JSON, their schema and the comparison of ranks all read these rows.
 * ---- */

enum option_group {
    GROUP_WHAT,
    GROUP_SWEEP,
    GROUP_LINKS,
    GROUP_RANKS,
    GROUP_ACCEPT,
    GROUP_MODEL,
    GROUP_TUNE,
    GROUP_RESULTS,
    GROUP_FAULTS,
    GROUPS
};

/* The commands that take an option. */
enum {
    FOR_RUN = 1 << 0,
    FOR_PLAN = 1 << 1,
    FOR_LIST = 1 << 2,
    FOR_INFO = 1 << 3,
    FOR_HELP = 1 << 4,
    FOR_ACCEPT = 1 << 5,
    FOR_REPORT = 1 << 6,
    FOR_PREDICT = 1 << 7,
    FOR_FIT = 1 << 8,
    FOR_GUIDELINES = 1 << 9,
    FOR_TUNE = 1 << 10,
    FOR_ALL = FOR_RUN | FOR_PLAN | FOR_LIST | FOR_INFO | FOR_HELP | FOR_ACCEPT | FOR_REPORT |
              FOR_PREDICT | FOR_FIT | FOR_GUIDELINES | FOR_TUNE
};

/* Where a value comes from; a greater source overrides a smaller one. */
enum source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_ENVIRONMENT, SOURCE_FLAG };

struct option_row;

/* A value as the user gave it. */
struct argument {
    const struct option_row *option;
    const char *text;
    enum source source;
};

/* How the values of an option are read, and shown once they are resolved. */
struct option_kind {
    /* Stores the value in the job. STATUS_USAGE, with the reason, if it is invalid. */
    enum status (*parse)(const struct argument *argument, struct request *request);
    /* The resolved value, for JSON: a new reference. NULL: not an option of the job. */
    json_t *(*show)(const struct option_row *option, const struct request *request);
    /* The value that ranks compare, where it differs from `show`; NULL: it does not. */
    json_t *(*compare)(const struct option_row *option, const struct request *request);
    /* The type in JSON, a definition of cli/schema.json; NULL: the row's numbers or words. */
    const char *type;
};

/* A table of which a value names an entry, or a list some. Entries of different tables have
 * different types. */
struct name_table {
    const char *what;    /* "datatype" */
    const void *entries; /* pointers to them, ended by NULL */
    size_t name;         /* where an entry has its name, */
    size_t aliases;      /* and at most so many aliases, ended by NULL if they are fewer */
    int alias_most;
    /* For lists: the entry of a name, NULL if there is none; and where a request has the pointers
     * to those of the list, ended by NULL. */
    const void *(*find)(const char *name);
    size_t chosen;
};

/* The use that a command makes of the file that an option's value names. It writes no file that it
 * reads, and none twice. */
enum file_use { FILE_NONE, FILE_READ, FILE_WRITTEN };

/* An option's meaning to some commands, where it is not what its row says. */
struct option_form {
    unsigned commands; /* 0: there is no further form */
    const char *help;
    const char *standard; /* the default in words; "": none; NULL: as in the row */
};
#define OPTION_FORMS_MOST 3

struct option_row {
    const char *name;     /* "min-bytes" */
    char letter;          /* 'b'; 0: none */
    const char *argument; /* "SIZE"; NULL: a switch */
    enum option_group group;
    unsigned commands;
    const char *help;  /* a sentence, of `cctest help` */
    const char *brief; /* a few words, of the overview; NULL: it is not there */
    struct option_form forms[OPTION_FORMS_MOST];
    /* Paragraphs for `cctest help --NAME` and the manual, with a blank line between them; a line
     * that begins with "- word: " is an item of a list. Literals stand in single quotes. NULL: the
     * sentence says all. */
    const char *text;
    const char *standard;      /* the default, read like any value; NULL: none */
    const char *standard_note; /* the default in words, where there is no such value */
    const struct option_kind *kind;
    size_t field, width;   /* of struct job: offset and bytes, for the kinds that need them */
    long long least, most; /* for numbers and sizes */
    /* For kind_words: the values 0, 1, ... For others: words that are no file, and that the shell
     * completes. Ended by NULL. */
    const char *const *words;
    const struct name_table *table; /* for kind_list and kind_memory */
    const char *word;     /* for numbers: "auto", which stands for a number that no user can */
    long long word_value; /* give: this one. NULL: there is no word */
    const char *advice;   /* of a refused number, where it is not the usual one; else NULL */
    enum file_use file;
    bool per_rank; /* each rank may have a value of its own; else all must agree */
};

#define OPTIONS_MOST 96
extern const struct option_row option_table[]; /* ended by a NULL name */
extern const char *const option_group_titles[GROUPS];

/* The first row of a long name; NULL: there is none. */
const struct option_row *option_find(const char *name);
/* Options of different commands may have one name: the row of those of `commands` (a sum of
 * FOR_...), or the first if they take none. */
const struct option_row *option_of(const char *name, unsigned commands);

/* The sentence and the default of an option, as one command (FOR_...) has them. The default is NULL
 * if there is none. */
const char *option_help(const struct option_row *row, unsigned command);
const char *option_standard(const struct option_row *row, unsigned command);

/* The variable that sets it: "CCTEST_MIN_BYTES". Returns `text`. */
#define VARIABLE_MOST 64
const char *option_variable(const struct option_row *row, char text[VARIABLE_MOST]);

/* A paragraph of an option's text, or an item of a list in it. They belong to the text. */
struct option_block {
    bool is_first;                /* a blank line stands before it */
    const char *word;             /* of an item: "zipf:S"; NULL: it is a paragraph */
    const char *body;             /* what the item or the paragraph says */
    int word_length, body_length; /* bytes */
};

/* Takes the next block off *text (NULL: there is none). False at the end. */
bool option_block_next(const char **text, struct option_block *block);

/* Writes all that the ranks of a job, or the agents of `accept`, must agree on, as a command line:
 * the collective, and every option of that command that is not per_rank. If two ranks differ, a
 * difference of their texts is what the user has to look for. A text that does not fit is cut off.
 */
#define COMPARED_TEXT_MOST (ALGORITHMS_MOST * CANDIDATE_TEXT_MOST + 2048)
void options_compared(const struct request *request, unsigned command,
                      char text[COMPARED_TEXT_MOST]);

/* The options of a command as resolved, by long name; a new reference. */
json_t *json_options(const struct request *request, unsigned command);

#define SCHEMA_DEFINITION "#/$defs/" /* what a reference to a definition begins with */

/* The definition of what json_options() returns, for cli/schema.json; a new reference. */
json_t *json_options_schema(unsigned command);

/* ---- choices.c ---- */

extern const struct option_kind kind_algorithm, kind_counts, kind_shape, kind_split;

/* Adds "auto", which picks an algorithm for each size once the ranks are known. */
enum status choices_default(struct request *request);

/* ---- The command, and the text of every option.
 *
 * A job takes two stages, because the meaning of an option depends on others (an algorithm's name
 * on the collective). This stage finds every option's text: flag, else environment, else default.
 * options.h reads the texts.
 * ---- */

struct command_line;

struct command {
    const char *name; /* the first word; for FOR_RUN the name of a collective */
    unsigned bit;     /* FOR_RUN ... */
    enum status (*run)(const struct command_line *line, struct request *request);
    int words_most; /* with the name */
    const char *synopsis;
    const char *summary;
};

/* Ended by a NULL name; the first is FOR_RUN. Defined in cli/commands.c. */
extern const struct command commands[];

#define WORDS_MOST 17

struct command_line {
    const struct command *command; /* NULL: no word was given */
    const char *words[WORDS_MOST];
    int word_count;
    bool is_named;                           /* the first word is the name of the program */
    struct argument arguments[OPTIONS_MOST]; /* in the order of option_table */
    bool help, version;
    const char *stray; /* the first variable of the environment that looks like an option's and is
                          none, with its value; NULL: all are known */
    int strays;        /* how many there are */
};

/* Finds every option's text, also on a failure (the first is the one that is recorded).
 * `environment` as in environ. The texts belong to argv and environment. */
enum status command_line_read(int argc, char **argv, char **environment, struct command_line *line);

/* Warns of the variables that are no options. */
void command_line_warn(const struct command_line *line);

/* Fails with "'alltaol' is not a collective or command: ...". */
enum status unknown_command(const char *word);

/* The cctest command for the work of a program, such as "osu_latency"; NULL: unknown. */
const char *program_way(const char *name);

/* The argument of an option, by long name. */
const struct argument *command_line_argument(const struct command_line *line, const char *name);

/* ---- The value of --inject: faults that the tool inflicts on itself. ---- */

extern const struct option_kind kind_inject;

/* The index-th fault, and its key besides "rank" ("us"); NULL: there are no more. */
const char *inject_fault(int index, const char **second);

/* ---- lists.c ---- */

/* `kind_list`: some entries of the row's table. */
extern const struct option_kind kind_list, kind_memory;

extern const struct name_table collective_table, datatype_table, reduction_table, memory_table,
    transport_table;

/* All names and aliases, in the order of the table. */
struct names table_names(const struct name_table *table);

/* Fails with "<subject> is neither a collective nor an algorithm of one; valid are ...; did you
 * mean ...?". */
enum status unknown_listed(const char *subject);

/* Reads "allreduce,allgather" or "all" into request->job.collectives. */
enum status collectives_read(const char *text, struct request *request);

/* "allreduce,allgather". Returns `text`. */
const char *collectives_text(const struct request *request, char text[COLLECTIVES_TEXT_MOST]);

/* ---- outputs.c ---- */

/* Do two paths lead to the same file? It need not be there; "-" is standard output. */
bool outputs_are_one(const char *one, const char *other);

/* Is this the place of a file that the command line says is to be read? */
bool command_line_reads(const struct command_line *line, const char *path);

/* Refuses two outputs to the same place, and one to that of an input. STATUS_USAGE. */
enum status outputs_settle(const struct command_line *line, const struct request *request);

/* Does one of a command's outputs go to standard output? Then its table goes elsewhere. */
bool outputs_take_standard(const struct request *request, unsigned command);

/* Can a command's outputs be written? Fails like output_probe(). */
enum status outputs_probe(const struct request *request, unsigned command);

/* ---- command_line.c ---- */

#define PASSED_TEXT_MOST 2048 /* more than a --transport and a --memory are long */

/* Writes the options that the user gave and that both the command and a run have, of these groups
 * (bits of enum option_group) and without those that each rank has for itself, each behind a blank.
 * `except`: one that is left out; NULL. */
void options_pass(const struct command_line *line, const struct request *request, unsigned groups,
                  const struct option_kind *except, char text[PASSED_TEXT_MOST]);

/* The command line for a shell, with what the environment gave. null: the request is NULL or has
 * none, or it is no UTF-8. A new reference. */
json_t *command_line_json(const struct request *request);

/* ---- From the texts of a command line to a job. ---- */

/* Reads the texts in the order of the option table, checks them against each other and fills the
 * job. STATUS_USAGE with the reason; STATUS_UNAVAILABLE for a transport that the host lacks. */
enum status command_line_resolve(const struct command_line *line, struct request *request);

/* ---- Items of --algorithm that are files with schedules: file:PATH. ---- */

/* The path that an item names; NULL: it is no file. */
const char *file_item_path(const char *item);

/* Reads the file of an item into request->job.files, if it is not there yet, and makes *choice that
 * of its plan for the collective; choice->algorithm is NULL if it has none. */
enum status file_item_read(struct request *request, const struct collective *collective,
                           const char *path, struct choice *choice);

/* Proves all files of the job, whose options are all read. STATUS_USAGE, with the reason. */
enum status files_settle(struct request *request);

/* Is one of the files of a list of --algorithm the one at this path? */
bool files_named(const char *list, const char *path,
                 bool (*same)(const char *one, const char *other));

/* ---- The value of --transport: a list of transports, each with its options. ---- */

extern const struct option_kind kind_transport;

/* The index of a transport's option by its name, of `length` bytes; -1: it has no such option. */
int transport_option_index(const struct transport *transport, const char *name, size_t length);

/* Asks each transport about its settings together, and about this machine. STATUS_USAGE: no machine
 * may run with them. STATUS_UNAVAILABLE: the settings hold, but this machine cannot use a
 * transport that the user names. */
enum status transports_settle(struct request *request);

/* ---- choices.c ---- */

extern const struct option_kind kind_tuning, kind_rank_counts;

/* Says how this job differs from what the measurements of --tuning hold for: another machine,
 * memory, transports or type. The job goes on. */
void tuning_warn(const struct request *request);

/* ---- Option values that are numbers, sizes, words or files. ---- */

/* The value of an option that is a text or a file; NULL: it is not given. */
const char *option_text(const struct option_row *option, const struct request *request);

extern const struct option_kind kind_switch, kind_whole, kind_size, kind_real, kind_duration,
    kind_device, kind_file, kind_words, kind_iterations, kind_address, kind_memory_devices,
    kind_command;

/* "--np '0'" or "CCTEST_NP='0'", for sentences. Returns `text`. */
#define LABEL_MOST 256
const char *argument_label(const struct argument *argument, char text[LABEL_MOST]);

/* Fails with "<label> <why>: <advice>". */
enum status argument_refuse(const struct argument *argument, const char *why, const char *advice);

#endif
