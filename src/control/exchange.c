/*
 * exchange.c - an exchange from encoding to decoding.
 */
#include "control/exchange.h"

#include "base/log.h"

static enum status
exchange(struct control *control, struct bytes *share, const char *what,
         enum status (*send)(struct control *, const void *, size_t, struct blobs *),
         bool (*decode)(void *argument, int rank, struct reader *reader), void *argument)
{
    struct blobs blobs = {0};
    enum status status = share->failed
                             ? fail(STATUS_ERROR, "out of memory for this rank's %s data", what)
                             : send(control, share->data, share->size, &blobs);
    bytes_free(share);
    if (status == STATUS_OK)
        status = blobs_read(&blobs, control_rank(control), what, decode, argument);
    blobs_free(&blobs);
    return status;
}

enum status exchange_all(struct control *control, struct bytes *share, const char *what,
                         bool (*decode)(void *argument, int rank, struct reader *reader),
                         void *argument)
{
    return exchange(control, share, what, control_allgather, decode, argument);
}

enum status exchange_root(struct control *control, struct bytes *share, const char *what,
                          bool (*decode)(void *argument, int rank, struct reader *reader),
                          void *argument)
{
    return exchange(control, share, what, control_gather, decode, argument);
}
