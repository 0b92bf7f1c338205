/*
 * rails.c - NIC ports by which the pairs of a fleet are measured one after the other.
 */
#include "accept/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats/stats.h"

#define GBITS_OF_A_GB 8.0

/* Gb/s at which all interfaces of a host that are up run, or the one of --interface; 0: they differ,
 * or it is not known. */
static double interfaces_speed(const struct job *job, const struct inventory *inventory)
{
    const char *given = job->bootstrap.interface;
    bool is_device = given && inventory_find(inventory, PART_INTERFACE, given, "speed");
    double speed = 0;
    for (int i = 0; i < inventory->count && !(given && !is_device); i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        if (fact->rule->kind != PART_INTERFACE || strcmp(fact->rule->key, "speed") != 0 ||
            (given && strcmp(fact->part, given) != 0))
            continue;
        const struct inventory_fact *state =
            inventory_find(inventory, PART_INTERFACE, fact->part, "state");
        if (!state || strcmp(state->text, "up") != 0)
            continue;
        if (speed > 0 && fact->number != speed)
            return 0;
        speed = fact->number;
    }
    return speed;
}

/* GB/s of a NIC port (NULL: of the interfaces), the median of the hosts where it is known; 0: it is not.
 * `rates` has room for all hosts. */
static double link_rate(const struct job *job, const struct inventory *inventories, int hosts,
                        const char *nic, double *rates)
{
    size_t known = 0;
    for (int h = 0; h < hosts; h++) {
        const struct inventory_fact *rate =
            nic ? inventory_find(&inventories[h], PART_NIC, nic, "rate") : NULL;
        double number = rate ? rate->number : nic ? 0 : interfaces_speed(job, &inventories[h]);
        if (number > 0)
            rates[known++] = number / GBITS_OF_A_GB;
    }
    return median_of(rates, known);
}

bool rails_find(const struct job *job, const struct inventory *inventories, int hosts,
                struct rails *rails)
{
    *rails = (struct rails){.count = 1};
    if (!inventories)
        return true;
    double *rates = malloc(((size_t)hosts + 1) * sizeof *rates);
    if (!rates)
        return false;
    int ports = nic_ports_find(job->transports, inventories, hosts, rails->names);
    for (int r = 0; r < ports || r == 0; r++)
        rails->rates[r] = link_rate(job, inventories, hosts, rails->names[r], rates);
    if (ports > 1)
        rails->count = ports;
    else
        rails->names[0] = NULL;
    free(rates);
    return true;
}

bool rails_have_names(const struct rails *rails)
{
    return rails->names[0] != NULL;
}

bool rail_is_at(const struct rails *rails, int rail, const struct inventory *inventories, int host)
{
    return !rails_have_names(rails) || nic_port_is_at(rails->names[rail], inventories, host);
}

const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[PORT_TRANSPORT_MOST])
{
    return rails_have_names(rails) ? nic_port_transport(job->transports, rails->names[rail], text) : NULL;
}

void rails_drop(struct rails *rails, int rail)
{
    rails->count--;
    rails->dropped++;
    for (int r = rail; r < rails->count; r++) {
        rails->names[r] = rails->names[r + 1];
        rails->rates[r] = rails->rates[r + 1];
    }
    if (rails->count == 0)
        *rails = (struct rails){.count = 1, .dropped = rails->dropped};
}
