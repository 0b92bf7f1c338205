/*
 * pmix.c - PMIx, process library is loaded at run time, with a deadline for every call.
 *
 * A call may block for any time, since not all servers respect the timeout of the interface. So
 * another thread makes the calls, while the caller watches the clock and signals. If a call does
 * not return, its thread is abandoned: the process is about to end.
 *
 * Rank 0 puts its text, and the others get it until they find it. A fence would do the same, but
 * does not tell which rank is missing. Consecutive commands of one job share the key, and a server
 * caches values of other nodes. So the ranks ask for a refresh, and rank 0 overwrites its text when
 * all have it. Servers before version 4 cannot refresh; the ranks then use a fence.
 */
#include "controlplane/bootstrap/bootstrap.h"

#include <stdio.h>
#include <stdlib.h>

bool pmix_offered(void)
{
    return getenv("PMIX_NAMESPACE") || getenv("PMIX_RANK");
}

#ifdef WITH_PMIX

#include <dlfcn.h>
#include <errno.h>
#include <pmix.h>
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timed_call.h"

#define LIBRARY     "libpmix.so.2"
#define GET_SECONDS 1 /* the interface takes whole seconds */

#ifndef PMIX_GET_REFRESH_CACHE /* headers before 4 */
#define PMIX_GET_REFRESH_CACHE "pmix.get.refresh"
#endif

/* The first character of the published text. */
#define TEXT_VALID  '+' /* rank 0's text follows */
#define TEXT_FAILED '!' /* rank 0 failed; nothing follows */
#define TEXT_VOID   '-' /* of an earlier command */

struct library {
    __typeof__(PMIx_Init) *init;
    __typeof__(PMIx_Finalize) *finalize;
    __typeof__(PMIx_Get) *get;
    __typeof__(PMIx_Put) *put;
    __typeof__(PMIx_Commit) *commit;
    __typeof__(PMIx_Fence) *fence;
    __typeof__(PMIx_Error_string) *error_string;
    __typeof__(PMIx_Get_version) *version;
};

struct client {
    struct process_manager manager; /* first: the public part */
    struct library library;
    pmix_proc_t self;
    bool fences; /* the server cannot refresh */
    double until;
    bool published; /* close() has to overwrite the text */
    bool connected; /* close() has to call PMIx_Finalize */
    bool abandoned; /* a call did not return: its thread may still use this struct */

    /* The call that the other thread makes: */
    void (*work)(struct client *client);
    char text[1 + MANAGER_TEXT_MOST];
    const char *call;     /* the last function called, */
    pmix_status_t result; /* and its result */
};

/* Never unloads the library: it may have threads and exit handlers. */
static bool library_load(struct library *library, char *why, size_t size)
{
    const struct {
        const char *name;
        void **where;
    } symbols[] = {
        {"PMIx_Init", (void **)&library->init},
        {"PMIx_Finalize", (void **)&library->finalize},
        {"PMIx_Get", (void **)&library->get},
        {"PMIx_Put", (void **)&library->put},
        {"PMIx_Commit", (void **)&library->commit},
        {"PMIx_Fence", (void **)&library->fence},
        {"PMIx_Error_string", (void **)&library->error_string},
        {"PMIx_Get_version", (void **)&library->version},
    };
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; handle && i < sizeof symbols / sizeof symbols[0]; i++) {
        *symbols[i].where = dlsym(handle, symbols[i].name);
        if (!*symbols[i].where)
            handle = NULL;
    }
    if (!handle)
        snprintf(why, size, LIBRARY " cannot be loaded (%.120s): install it (Debian: libpmix2)",
                 dlerror());
    return handle != NULL;
}

bool pmix_library(char *text, size_t size)
{
    struct library library;
    if (!library_load(&library, text, size))
        return false;
    /* "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, ...)" */
    const char *version = library.version();
    snprintf(text, size, "%.*s", (int)strcspn(version, "(,"), version);
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' '; end--)
        text[end - 1] = '\0';
    return true;
}

/* ---- calls in another thread ---- */

static void client_work(void *argument)
{
    struct client *client = argument;
    client->work(client);
}

/* STATUS_OK: `work` has run; its result is client->result. */
static enum status client_run(struct client *client, void (*work)(struct client *), double seconds,
                              char *why, size_t size)
{
    client->work = work;
    client->result = PMIX_SUCCESS;
    client->call = "PMIx";
    int end = timed_call_run(client_work, client, seconds);
    client->abandoned = timed_call_is_abandoned(end);
    if (end < 0) {
        timed_call_text(end, why, size);
        return STATUS_INTERRUPTED;
    }
    if (end == 0 || end == ETIMEDOUT)
        return end == 0 ? STATUS_OK : STATUS_TIMEOUT;
    snprintf(why, size, "could not start a thread for PMIx: %s", strerror(end));
    return STATUS_ERROR;
}

/* Notes the result of a call; true: success. */
static bool client_called(struct client *client, const char *call, pmix_status_t result)
{
    client->call = call;
    client->result = result;
    return result == PMIX_SUCCESS;
}

/* ---- what that thread does ---- */

/* Servers differ in the types of their numbers. -1: not a number. */
static int number_of(const pmix_value_t *value)
{
    switch (value->type) {
    case PMIX_INT:
        return value->data.integer;
    case PMIX_INT16:
        return value->data.int16;
    case PMIX_INT32:
        return value->data.int32;
    case PMIX_INT64:
        return (int)value->data.int64;
    case PMIX_UINT:
        return (int)value->data.uint;
    case PMIX_UINT16:
        return value->data.uint16;
    case PMIX_UINT32:
        return (int)value->data.uint32;
    case PMIX_UINT64:
        return (int)value->data.uint64;
    case PMIX_SIZE:
        return (int)value->data.size;
    case PMIX_PROC_RANK:
        return (int)value->data.rank;
    default:
        return -1;
    }
}

static int get_number(struct client *client, pmix_rank_t rank, const char *key)
{
    pmix_proc_t process = client->self;
    pmix_value_t *value = NULL;
    int number = -1;
    process.rank = rank;
    if (!client_called(client, "PMIx_Get", client->library.get(&process, key, NULL, 0, &value)) ||
        !value)
        return -1;
    number = number_of(value);
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
    return number;
}

static void work_open(struct client *client)
{
    if (!client_called(client, "PMIx_Init", client->library.init(&client->self, NULL, 0)))
        return;
    client->connected = true;
    client->manager.rank = (int)client->self.rank;
    int rank = get_number(client, client->self.rank, PMIX_LOCAL_RANK);
    int ranks = get_number(client, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
    if (rank >= 0 && rank < ranks) {
        client->manager.local_rank = rank;
        client->manager.local_ranks = ranks;
    }
    client->manager.ranks = get_number(client, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    /* If no server answers, some versions begin a job of their own. */
    const char *job = getenv("PMIX_NAMESPACE");
    if (client->result == PMIX_SUCCESS && (!job || strcmp(job, client->self.nspace) != 0))
        client->result = PMIX_ERR_UNREACH;
}

static bool text_put(struct client *client)
{
    const struct library *library = &client->library;
    pmix_value_t value = {.type = PMIX_STRING, .data.string = client->text};
    return client_called(client, "PMIx_Put", library->put(PMIX_GLOBAL, MANAGER_KEY, &value)) &&
           client_called(client, "PMIx_Commit", library->commit());
}

/* Gets rank 0's text of this command; false: client->result is the reason. */
static bool text_get(struct client *client)
{
    pmix_info_t how[] = {
        {.key = PMIX_GET_REFRESH_CACHE, .value = {PMIX_BOOL, {.flag = true}}},
        {.key = PMIX_TIMEOUT, .value = {PMIX_INT, {.integer = GET_SECONDS}}},
    };
    pmix_proc_t root = client->self;
    pmix_value_t *value = NULL;
    root.rank = 0;
    if (!client_called(client, "PMIx_Get", client->library.get(&root, MANAGER_KEY, how, 2, &value)))
        return false;
    if (value->type == PMIX_STRING && value->data.string) {
        snprintf(client->text, sizeof client->text, "%s", value->data.string);
        sodium_memzero(value->data.string, strlen(value->data.string));
        free(value->data.string);
    } else {
        client->text[0] = TEXT_VOID;
    }
    free(value);
    if (client->text[0] != TEXT_VALID && client->text[0] != TEXT_FAILED)
        client->result = PMIX_ERR_NOT_FOUND;
    return client->result == PMIX_SUCCESS;
}

static void work_broadcast(struct client *client)
{
    const struct library *library = &client->library;
    if (client->self.rank == 0) {
        client->published = text_put(client) && client->text[0] == TEXT_VALID;
        if (client->result != PMIX_SUCCESS)
            return;
    }
    /* Some servers synchronise nodes only if the fence collects data. */
    pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {PMIX_BOOL, {.flag = true}}};
    if (client->fences &&
        !client_called(client, "PMIx_Fence", library->fence(NULL, 0, &collect, 1)))
        return;
    double pause = PAUSE_FIRST;
    while (client->self.rank > 0 && !text_get(client)) {
        bool absent = client->result == PMIX_ERR_NOT_FOUND || client->result == PMIX_ERR_TIMEOUT ||
                      client->result == PMIX_ERR_PROC_ENTRY_NOT_FOUND;
        if (!absent || clock_seconds() > client->until)
            return;
        nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
        pause = 2 * pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
    }
}

static void work_finalize(struct client *client)
{
    if (client->published) {
        snprintf(client->text, sizeof client->text, "%c", TEXT_VOID);
        text_put(client);
    }
    client_called(client, "PMIx_Finalize", client->library.finalize(NULL, 0));
}

/* ---- the interface ---- */

static enum status pmix_broadcast(struct process_manager *manager, double seconds,
                                  char text[MANAGER_TEXT_MOST])
{
    struct client *client = (struct client *)manager;
    char why[200];
    if (manager->rank == 0)
        snprintf(client->text, sizeof client->text, "%c%s", *text ? TEXT_VALID : TEXT_FAILED, text);
    client->until = clock_seconds() + seconds;
    /* One more GET_SECONDS, so that the last call returns and PMIx_Finalize can follow. */
    double allowed = client->fences ? seconds : seconds + GET_SECONDS;
    enum status status = client_run(client, work_broadcast, allowed, why, sizeof why);
    if (status == STATUS_OK && clock_seconds() > client->until && client->result != PMIX_SUCCESS)
        status = STATUS_TIMEOUT;
    if (status == STATUS_TIMEOUT && client->fences)
        return fail(status,
                    "rank %d waited %.3g s for all %d ranks to meet through PMIx: check that all "
                    "were started and run cctest, and that all hosts have libpmix",
                    manager->rank, seconds, manager->ranks);
    if (status == STATUS_TIMEOUT)
        return fail(status,
                    "rank 0 could not be reached by rank %d within %.3g s through PMIx: check that "
                    "rank 0 was "
                    "started and runs cctest, and that its host has libpmix",
                    manager->rank, seconds);
    if (status != STATUS_OK)
        return fail(status, "rank %d could not meet the others through PMIx: %s", manager->rank,
                    why);
    if (client->result != PMIX_SUCCESS)
        return fail(STATUS_ERROR,
                    "rank %d could not meet the others through PMIx (%s: %s): a rank or the "
                    "launcher has ended",
                    manager->rank, client->call, client->library.error_string(client->result));
    snprintf(text, MANAGER_TEXT_MOST, "%s", client->text + 1);
    return STATUS_OK;
}

static void pmix_close(struct process_manager *manager)
{
    struct client *client = (struct client *)manager;
    if (client->connected && !client->abandoned) {
        client->work = work_finalize;
        int end = timed_call_run(client_work, client, MANAGER_CLOSE_SECONDS);
        client->abandoned = timed_call_is_abandoned(end);
        timed_call_reraise(end);
    }
    if (client->abandoned)
        return;
    sodium_memzero(client, sizeof *client); /* the text holds the nonce */
    free(client);
}

/* 0: unknown. */
static long server_version(void)
{
    const char *version = getenv("PMIX_VERSION");
    return version ? strtol(version, NULL, 10) : 0;
}

enum status pmix_open(double seconds, struct process_manager **out, char *why, size_t size)
{
    *out = NULL;
    struct client *client = new_array(1, sizeof *client);
    client->fences = server_version() < 4;
    client->manager.name = "pmix";
    client->manager.broadcast = pmix_broadcast;
    client->manager.close = pmix_close;
    enum status status = STATUS_UNAVAILABLE;
    if (library_load(&client->library, why, size))
        status = client_run(client, work_open, seconds, why, size);
    if (status == STATUS_TIMEOUT) {
        snprintf(why, size, "the PMIx server has not answered for %.3g s", seconds);
    } else if (status == STATUS_OK &&
               (client->result != PMIX_SUCCESS || client->manager.ranks < 1)) {
        snprintf(why, size, "no PMIx server answers (%s: %s)", client->call,
                 client->library.error_string(client->result));
        status = STATUS_USAGE;
    }
    if (status == STATUS_OK)
        *out = &client->manager;
    else
        pmix_close(&client->manager);
    return status;
}

#else

#define MISSING "this cctest was built without PMIx: build it where pmix.h is (Debian: libpmix-dev)"

bool pmix_library(char *text, size_t size)
{
    snprintf(text, size, MISSING);
    return false;
}

enum status pmix_open(double seconds, struct process_manager **manager, char *why, size_t size)
{
    (void)seconds;
    *manager = NULL;
    snprintf(why, size, MISSING);
    return STATUS_UNAVAILABLE;
}

#endif
