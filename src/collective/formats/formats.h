/*
 * formats.h - the interface of collective/formats/.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_FORMATS_H
#define CCTEST_COLLECTIVE_FORMATS_FORMATS_H

#include <jansson.h>
#include <stdio.h>

#include "base/json_field.h"
#include "base/status.h"
#include "collective/collective.h"
#include "collective/schedule/schedule.h"

/* ---- Algorithms with their options, as text ("bruck:radix=4") and as JSON. ---- */

#define CHOICE_GROUP_MOST 65536 /* ranks of a group */

/* Has any collective an algorithm of this name or alias? */
bool is_algorithm(const char *name);

/* Fails: none of the collectives of `served`, ended by NULL, has such an algorithm. Names the
 * nearest. */
enum status unknown_algorithm(const char *subject, const struct collective *const *served);

/* Reads an algorithm with its options, such as "bruck:radix=4", of a collective. STATUS_USAGE with
 * the reason. */
enum status choice_parse(const struct collective *collective, const char *text,
                         struct choice *choice);
/* The same where the algorithm is known: reads the options of `item`. */
enum status choice_text_read(const struct algorithm *algorithm, const char *item,
                             struct choice *choice);

/* The index of an algorithm's option by its name, of `length` bytes; -1: it has no such option. */
int choice_option_index(const struct algorithm *algorithm, const char *name, size_t length);

/* The options as chosen, a new reference: numbers, words, the groups' sizes (null: not given), and
 * for a part {"algorithm", "options"}. */
json_t *choice_json(const struct choice *choice);

/* ---- The schedules of all ranks for one collective, as a file has them.
 *
 * An element of a file is a *part*: the files of cctest and of MSCCL cut a vector, or each block,
 * into `count` parts, and a run cuts its own in the same way by the slice rule
 * (collective/schedule/schedule.h). So a schedule that was written for 4 elements serves every
 * size.
 * ---- */

/* Limits of a file. What is larger would not be proven in seconds. All count over all ranks. */
#define FILE_BYTES_MOST      ((size_t)256 << 20)
#define FILE_OPERATIONS_MOST (1 << 20)
#define FILE_PARTS_MOST      (1 << 22) /* of all buffers */
#define FILE_MOVED_MOST      (1 << 24) /* parts that all operations move */
#define FILE_CHANNELS_MOST   (1 << 22) /* pairs of ranks, times lanes */
#define FILE_RANKS_MOST      2048

/* The operations of one rank. Offsets and lengths are in parts. */
struct file_rank {
    struct operation *operations; /* in program order, without waits */
    size_t count;
    struct epoch *epochs; /* `previous` only: an epoch follows that one */
    size_t epoch_count;
    int *lines;     /* of the file, for each operation; NULL: it tells operations by numbers */
    size_t scratch; /* parts */
};

/* A proof for a plan, with buffers that share memory or not. */
struct file_proof {
    struct schedule **schedules; /* of parts, one for each rank */
    /* For each rank a number for each part of each operation, as verify_origins() has them. */
    uint32_t **origins;
    /* An operation that puts a part of a block where another part of it belongs. The lengths of the
     * two differ where the parts do not divide a block. uneven_rank is NO_RANK if there is none. */
    int uneven_rank;
    size_t uneven_operation;
};

struct file_plan {
    const char *path;       /* of the file */
    uint64_t fingerprint;   /* differs where the texts of two files differ */
    struct problem problem; /* of parts: its count is that of a block, or of the vector */
    bool in_place;          /* it was written for buffers that share memory */
    int lanes;              /* of each pair of ranks */
    struct file_rank *ranks;
    const int *partners;      /* sendrecv: the rank that each rank sends to, -1: none; else NULL */
    struct counts *counts;    /* of `problem`; NULL where blocks have one length */
    const char *note;         /* what a user should know of it: one clause; NULL: nothing */
    struct file_proof *proof; /* NULL before file_plan_prove() */
};

/* ---- Schedules in cctest's own JSON, as `cctest plan --json` writes it. ---- */

/* Messages and elements that the rank of a schedule sends. */
struct sent {
    size_t messages, elements;
};
struct sent schedule_sent(const struct schedule *schedule);

/* A plan without its schedules. */
struct planned {
    struct choice choice;
    struct problem problem;
    const char *datatype; /* its name */
    size_t bytes;         /* of the larger buffer of a rank */
    int channels;
};

/* ---- The algorithm that a file is: `-a file:PATH`. ---- */

#define FILE_PREFIX "file:" /* of an item of --algorithm that is the path of a file */

/* The choice of a plan, which must live as long as the choice. Schedules can be built once it is
 * proven. */
struct choice file_plan_choice(struct file_plan *plan);

/* Why the plan, which is proven, cannot serve a problem by so many channels: a sentence in `why`;
 * NULL: it can. The sentence is static or written into `why`. The ranks and the root are those of
 * the plan. */
#define FILE_WHY_MOST 300
const char *file_plan_refuses(const struct file_plan *plan, const struct problem *problem,
                              int channels, char why[FILE_WHY_MOST]);

/* ---- Schedules in GOAL, the text format of the simulator LogGOPSim.
 *
 * Source of the format: src/LogGOPSim/txt2bin.re of github.com/spcl/LogGOPSim; T. Hoefler,
 * C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", 2009.
 * ---- */

/* The text before the ranks. */
void goal_begin(FILE *out, const char *title, int ranks);

/* One rank. `element`: bytes of an element. `calc`: nanoseconds a byte of a local operation, and of
 * what a received message is combined with. STATUS_ERROR if memory ran out. */
enum status goal_rank(FILE *out, const struct schedule *schedule, size_t element, double calc);

/* ---- Schedules in the XML of MSCCL, which runs them inside GPUs.
 *
 * Source of the format and its limits: src/graph/topo.cc and src/include/msccl.h of
 * github.com/microsoft/msccl.
 * ---- */

/* The schedules of all ranks. `name`: of the algorithm, without markup. STATUS_USAGE, with the
 * reason, for what MSCCL cannot say: a collective that it does not know, a message of several
 * spans, lengths that are no whole chunks within its limits. */
enum status msccl_write(FILE *out, const char *name, const struct schedule *const *schedules);

/* ---- Proves the schedules of a file before anything runs them. ---- */

/* Runs all schedules on symbols, with buffers that share memory or do not, and fills plan->proof.
 * What holds for parts holds for every size: a part is moved whole, whatever its length.
 * STATUS_USAGE, with the verifier's sentence, if they are wrong, or too large to be proven. */
enum status file_plan_prove(struct file_plan *plan, bool in_place);

void file_plan_free(struct file_plan *plan); /* its counts and its proof */

/* ---- A file with schedules, in cctest's JSON or in MSCCL's XML. ---- */

struct schedule_file;

/* Reads a file and adds it to a list of files, of which each is read once. STATUS_USAGE with the
 * file and its line, or with the rank and the operation, for a file that cannot be read, or has no
 * schedules of a right form. */
enum status schedule_file_read(const char *path, struct schedule_file **list,
                               const struct schedule_file **file);

/* The only plan for a collective; *plan is NULL if there is none. STATUS_USAGE if there are
 * several. */
enum status schedule_file_plan(const struct schedule_file *file,
                               const struct collective *collective, struct file_plan **plan);

void schedule_files_free(struct schedule_file *list); /* NULL is allowed */

/* ---- The keys of schedules in JSON (json_plan.c). ---- */

extern const struct json_field planned_fields[];   /* of struct planned; "schedules" are empty */
extern const struct json_field schedule_fields[];  /* of struct schedule, one of these, */
extern const struct json_field extents_fields[];   /* and its extents; */
extern const struct json_field sent_fields[];      /* of struct sent, */
extern const struct json_field operation_fields[]; /* struct operation; context: its schedule, */
extern const struct json_field span_fields[];      /* struct span, */
extern const struct json_field wait_fields[];      /* and struct wait */

#endif
