/*
 * exchange.c - an exchange from encoding to decoding.
 */
#include "control/exchange.h"

enum status exchange_decode(struct control *control, enum exchange kind, struct bytes *share,
                            const char *what,
                            bool (*decode)(void *argument, int rank, struct reader *reader),
                            void *argument)
{
    struct blobs blobs;
    enum status status = control_exchange(control, kind, share, what, &blobs);
    if (status == STATUS_OK)
        status = blobs_read(&blobs, control_rank(control), what, decode, argument);
    blobs_free(&blobs);
    return status;
}
