/*
 * relay_maxima.c - a relay reduces the maxima of the ranks behind it to one array.
 */
#include "controlplane/control/internal.h"

#include "base/log.h"

/* Are the words of all ranks here that come this way? */
static bool relay_has_maxima(const struct relay *relay)
{
    for (int rank = 1; rank < relay->maxima.ranks; rank++) {
        bool own = rank == relay->control->membership.rank;
        if (!relay->maxima.has[rank] &&
            (own || child_links_find(&relay->children, relay->behind[rank])))
            return false;
    }
    return true;
}

static void relay_send_maxima(struct relay *relay)
{
    struct bytes bytes = {0};
    maxima_encode_held(&relay->maxima, &bytes);
    maxima_drop(&relay->maxima);
    if (bytes.failed) {
        say("out of memory for the maxima of ranks");
        control_conclude(relay->control, STATUS_ERROR);
    } else {
        relay_send(relay, relay->control->membership.rank, FRAME_MAXIMA, bytes.data, bytes.size);
    }
    bytes_free(&bytes);
}

/* Those that wait for the others do so since the first of them came. */
static enum maxima_fit relay_hold_maxima(struct relay *relay, const struct maxima_message *message)
{
    if (relay->maxima.held == 0)
        relay->maxima_since = relay->control->helper.now;
    return maxima_take(&relay->maxima, message);
}

/* Words that do not fit together are rank 0's to judge. */
bool relay_take_maxima(struct relay *relay, const void *data, size_t size)
{
    struct maxima_message message;
    if (!maxima_decode(data, size, relay->control->membership.ranks, &message))
        return false;
    enum maxima_fit fit = relay_hold_maxima(relay, &message);
    if (fit == MAXIMA_DIFFER) {
        relay_send_maxima(relay);
        fit = relay_hold_maxima(relay, &message);
    }
    if (fit == MAXIMA_NO_MEMORY) {
        say("out of memory for the maxima of ranks");
        control_conclude(relay->control, STATUS_ERROR);
    }
    return true;
}

void relay_tend_maxima(struct relay *relay)
{
    double since = relay->control->helper.now - relay->maxima_since;
    if (relay->maxima.held > 0 && (relay_has_maxima(relay) || since > relay->control->heartbeat))
        relay_send_maxima(relay);
}
