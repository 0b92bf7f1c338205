/*
 * rails.c - NIC ports by which the pairs of a fleet are measured one after the other.
 */
#include "accept/rails.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "screening/spread.h"
#include "transport/transport.h"

#define GBITS_OF_A_GB 8.0

/* ---- verbs ---- */

static const struct transport_choice *verbs_choice(const struct job *job)
{
    for (const struct transport_choice *choice = job->transports; choice->transport; choice++)
        if (strcmp(choice->transport->name, "verbs") == 0)
            return choice;
    return NULL;
}

static bool verbs_is_allowed(const struct job *job)
{
    return verbs_choice(job) != NULL;
}

bool verbs_is_present(const struct job *job)
{
    const struct transport_choice *verbs = verbs_choice(job);
    return verbs && verbs->transport->present && verbs->transport->present();
}

/* "mlx5_0+mlx5_1:2", as the user gave it; NULL: nothing. */
static const char *nics_given(const struct job *job)
{
    const struct transport_choice *verbs = verbs_choice(job);
    const struct transport_option *options = verbs ? verbs->transport->options : NULL;
    for (int i = 0; options && i < TRANSPORT_OPTIONS_MOST && options[i].name; i++)
        if (strcmp(options[i].name, "nic") == 0 && verbs->settings[i].given)
            return verbs->settings[i].text;
    return NULL;
}

/* Does an entry of nic= name this port? "mlx5_0" names all ports of the NIC, and the inventory calls
 * port 1 so. */
static bool entry_names(const char *entry, size_t length, const char *nic)
{
    size_t name = strcspn(nic, ":");
    if (length < name || strncmp(entry, nic, name) != 0)
        return false;
    const char *port = nic[name] ? nic + name : ":1";
    return length == name ||
           (length == name + strlen(port) && strncmp(entry + name, port, strlen(port)) == 0);
}

static bool nic_is_allowed(const struct job *job, const char *nic)
{
    const char *list = nics_given(job);
    for (const char *entry = list; entry && *entry; entry += *entry == '+') {
        size_t length = strcspn(entry, "+");
        if (entry_names(entry, length, nic))
            return true;
        entry += length;
    }
    return !list;
}

/* The options of verbs that a job on one NIC port keeps. */
static bool option_stays(const struct transport_option *option)
{
    return strcmp(option->name, "nic") != 0 && strcmp(option->name, "rails") != 0;
}

static const char *nic_transport(const struct job *job, const char *nic,
                                 char text[RAIL_TRANSPORT_MOST])
{
    struct text to = text_in(text, RAIL_TRANSPORT_MOST);
    text_add(&to, "verbs:nic=%s%s", nic, strchr(nic, ':') ? "" : ":1");
    transport_settings_put(verbs_choice(job), option_stays, &to);
    return text;
}

const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[RAIL_TRANSPORT_MOST])
{
    return rails_have_names(rails) ? nic_transport(job, rails->names[rail], text) : NULL;
}

/* ---- what the inventories have ---- */

static bool is_active(const struct inventory_fact *state)
{
    return state && strcmp(state->text, "ACTIVE") == 0;
}

/* A NIC port, and how many hosts have it active. */
struct port_candidate {
    const char *name;
    int hosts;
};

static int candidates_count(const struct job *job, const struct inventory *inventory,
                            struct port_candidate *candidates, int count)
{
    for (int i = 0; i < inventory->count; i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        bool is_port = fact->rule->kind == PART_NIC && strcmp(fact->rule->key, "state") == 0;
        if (!is_port || !is_active(fact) || !nic_is_allowed(job, fact->part))
            continue;
        int at = 0;
        while (at < count && strcmp(candidates[at].name, fact->part) != 0)
            at++;
        if (at == count && count < RAILS_MOST)
            candidates[count++] = (struct port_candidate){.name = fact->part};
        if (at < count)
            candidates[at].hosts++;
    }
    return count;
}

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
    struct port_candidate candidates[RAILS_MOST];
    int count = 0, known = 0, kept = 0;
    *rails = (struct rails){.count = 1};
    if (!inventories)
        return true;
    double *rates = malloc(((size_t)hosts + 1) * sizeof *rates);
    if (!rates)
        return false;
    for (int h = 0; h < hosts; h++) {
        known += inventories[h].count > 0;
        if (verbs_is_allowed(job))
            count = candidates_count(job, &inventories[h], candidates, count);
    }
    for (int c = 0; c < count; c++)
        if (2 * candidates[c].hosts > known)
            rails->names[kept++] = candidates[c].name;
    for (int r = 0; r < kept || r == 0; r++)
        rails->rates[r] = link_rate(job, inventories, hosts, rails->names[r], rates);
    if (kept > 1)
        rails->count = kept;
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
    if (!rails_have_names(rails) || !inventories || inventories[host].count == 0)
        return true;
    return is_active(inventory_find(&inventories[host], PART_NIC, rails->names[rail], "state"));
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
