/*
 * ucx_messages.c - preloaded into a rank of MPICH over UCX: writes each message that it sends to a
 * file.
 *
 * MPICH says nowhere which algorithm it takes. With MPIR_CVAR_NOLOCAL=1 all its messages go through
 * UCX, whose endpoints it makes in the order of the ranks. The file is the one that $MESSAGES_SENT
 * names, with the rank behind it; its lines are those that mpi_messages.py reads: "S", sender,
 * receiver, bytes. A message of a derived datatype has the number of its elements in place of the
 * bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS_MOST 64

static void *endpoints[RANKS_MOST];
static int count;

int ucp_ep_create(void *worker, const void *params, void **endpoint)
{
    int (*real)(void *, const void *, void **) = dlsym(RTLD_NEXT, __func__);
    int status = real(worker, params, endpoint);
    if (count < RANKS_MOST)
        endpoints[count++] = *endpoint;
    return status;
}

static void message_write(const void *endpoint, size_t bytes)
{
    static FILE *file;
    char path[4096];
    int to = 0;
    while (to < count && endpoints[to] != endpoint)
        to++;
    if (!file) {
        snprintf(path, sizeof path, "%s.%s", getenv("MESSAGES_SENT"), getenv("PMI_RANK"));
        file = fopen(path, "w");
        if (!file)
            abort();
        setlinebuf(file);
    }
    fprintf(file, "S\t%s\t%d\t%zu\n", getenv("PMI_RANK"), to, bytes);
}

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t bytes, uint64_t tag,
                       const void *param)
{
    void *(*real)(void *, const void *, size_t, uint64_t, const void *) =
        dlsym(RTLD_NEXT, __func__);
    message_write(endpoint, bytes);
    return real(endpoint, buffer, bytes, tag, param);
}
