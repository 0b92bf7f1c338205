/*
 * bootstrap_internal.h - what the bootstraps share.
 */
#ifndef CCTEST_BOOTSTRAP_BOOTSTRAP_INTERNAL_H
#define CCTEST_BOOTSTRAP_BOOTSTRAP_INTERNAL_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/process_manager.h"

/* A launcher that tells its processes who they are by their environment. */
struct launcher {
    const char *name;        /* "torchrun" */
    const char *rank, *size; /* variables */
    /* Its ranks are started by processes that may be ranks of another launcher's job, and have that
     * one's variables too. */
    bool nested;
    bool pmi;      /* it is a manager that speaks PMI-1 */
    bool terminal; /* it gives a rank a terminal of its own, wherever its output goes */
    /* Finds rank 0's host and ports from the launcher's other variables, and a text that all its
     * ranks share and others do not. NULL: it says nothing of hosts, so --rendezvous has to. */
    enum status (*meet)(struct membership *membership, char *shared, size_t size);
};

/* A whole non-negative number of at most 10,000,000; -1: it is none (NULL is none either). */
long number_parse(const char *text);

/* The launcher that started this process as one of several; NULL: none that is known. */
const struct launcher *launcher_detect(int *rank, int *ranks);

/* Does a launcher say that it started this process alone? */
bool launcher_of_one(void);

/* When none was recognised: a launcher's variables that speak of several ranks, but are not all
 * there or do not fit together, or are those of one that cctest cannot follow, as a sentence; NULL:
 * there are none. To go on with local ranks would be the classic silent failure. */
const char *launcher_incomplete(char *text, size_t size);

/* The first host of a Slurm node list: "node[07-09,12],other" -> "node07"; false, and "": it is
 * none. */
bool nodelist_first(const char *list, char *host, size_t size);

/* "host:port", "[::1]:port"; false: it is neither. */
bool rendezvous_parse(const char *text, char *host, size_t size, int *port);

/* A key made of `shared` and the secret that the user gave (CCTEST_SECRET, CCTEST_SECRET_FILE), if
 * he did. */
enum status secret_find(const char *shared, struct membership *membership);
/* Mixes into the key what only this job has. */
void secret_mix(const unsigned char word[SECRET_BYTES], struct membership *membership);

/* The life of the one rank that this process is. */
enum status rank_main_run(const struct bootstrap_options *options,
                          const struct membership *membership, rank_main *main, void *argument);

enum status bootstrap_run_local(const struct bootstrap_options *options, rank_main *main,
                                void *argument);
enum status bootstrap_run_tcp(const struct bootstrap_options *options,
                              const struct bootstrap *bootstrap, rank_main *main, void *argument);
/* Takes `manager`. */
enum status bootstrap_run_manager(const struct bootstrap_options *options,
                                  struct process_manager *manager, rank_main *main, void *argument);

/* What rank 0 says to the others through a manager: where it listens, and a word for secret_mix().
 * meeting_decode() returns false on nonsense. */
bool meeting_encode(const struct membership *root, const unsigned char word[SECRET_BYTES],
                    char text[MANAGER_TEXT_MOST]);
bool meeting_decode(const char *text, struct membership *membership,
                    unsigned char word[SECRET_BYTES]);

#endif
