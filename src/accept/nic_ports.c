/*
 * nic_ports.c - the NIC ports of a fleet that its jobs may use.
 */
#include "accept/nic_ports.h"

#include <string.h>

#include "base/text.h"
#include "transport/transport.h"

/* ---- verbs ---- */

static const struct transport_choice *verbs_choice(const struct job *job)
{
    for (const struct transport_choice *choice = job->transports; choice->transport; choice++)
        if (strcmp(choice->transport->name, "verbs") == 0)
            return choice;
    return NULL;
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

const char *nic_port_transport(const struct job *job, const char *port,
                               char text[PORT_TRANSPORT_MOST])
{
    struct text to = text_in(text, PORT_TRANSPORT_MOST);
    text_add(&to, "verbs:nic=%s%s", port, strchr(port, ':') ? "" : ":1");
    transport_settings_put(verbs_choice(job), option_stays, &to);
    return text;
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

int nic_ports_find(const struct job *job, const struct inventory *inventories, int hosts,
                   const char *ports[RAILS_MOST])
{
    struct port_candidate candidates[RAILS_MOST];
    int count = 0, known = 0, kept = 0;
    if (!inventories || !verbs_choice(job))
        return 0;
    for (int h = 0; h < hosts; h++) {
        known += inventories[h].count > 0;
        count = candidates_count(job, &inventories[h], candidates, count);
    }
    for (int c = 0; c < count; c++)
        if (2 * candidates[c].hosts > known)
            ports[kept++] = candidates[c].name;
    return kept;
}

bool nic_port_is_at(const char *port, const struct inventory *inventories, int host)
{
    if (!inventories || inventories[host].count == 0)
        return true;
    return is_active(inventory_find(&inventories[host], PART_NIC, port, "state"));
}
