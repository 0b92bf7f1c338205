/*
 * export.c - the winners of `cctest tune` in the forms that other libraries read.
 */
#include "cli/tune/export/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/io/io.h"

enum status export_probe(const struct tune_options *tune)
{
    const char *const paths[] = {tune->ompi, tune->mpich, tune->nccl};
    enum status status = STATUS_OK;
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        if (paths[i])
            status = output_probe(paths[i]);
    return status;
}

static enum status text_export(const char *path,
                               void (*writer)(FILE *out, const struct tuned *tuned),
                               const struct tuned *tuned)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out)
        writer(out, tuned);
    bool good = out && fclose(out) == 0;
    enum status status = good ? output_put(text, length, path, NULL)
                              : fail(STATUS_ERROR, "out of memory for %s", path);
    free(text);
    return status;
}

static enum status mpich_export(const char *path, const struct tuned *tuned)
{
    json_t *document = mpich_json(tuned);
    enum status status = document ? json_put(document, path, NULL)
                                  : fail(STATUS_ERROR, "out of memory for %s", path);
    json_decref(document);
    return status;
}

enum status export_write(const struct tune_options *tune, const struct tuned *tuned)
{
    enum status status = STATUS_OK;
    if (tune->ompi)
        status = text_export(tune->ompi, ompi_write, tuned);
    if (tune->mpich && status == STATUS_OK)
        status = mpich_export(tune->mpich, tuned);
    if (tune->nccl && status == STATUS_OK)
        status = text_export(tune->nccl, nccl_write, tuned);
    return status;
}
