/*
 * nic_ports.c - the NIC ports of a fleet that its jobs may use.
 */
#include "controlplane/agents/agents.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dataplane/transport/transport.h"

/* ---- verbs ---- */

const struct transport_choice *nic_port_choice(const struct transport_choice *choices)
{
    for (const struct transport_choice *choice = choices; choice->transport; choice++)
        if (strcmp(choice->transport->name, "verbs") == 0)
            return choice;
    return NULL;
}

bool verbs_is_present(const struct transport_choice *choices)
{
    const struct transport_choice *verbs = nic_port_choice(choices);
    return verbs && verbs->transport->present && verbs->transport->present();
}

void nic_port_take(struct transport_choice *choice, const char *port, char nic[NIC_TEXT_MOST])
{
    const struct transport_option *options = choice->transport->options;
    snprintf(nic, NIC_TEXT_MOST, "%.*s%s", PART_NAME_MOST - 1, port, strchr(port, ':') ? "" : ":1");
    for (int i = 0; options && i < TRANSPORT_OPTIONS_MOST && options[i].name; i++) {
        if (strcmp(options[i].name, "nic") == 0)
            choice->settings[i] = (struct transport_setting){.given = true, .text = nic};
        if (strcmp(options[i].name, "rails") == 0)
            choice->settings[i].given = false;
    }
}

const char *nic_port_transport(const struct transport_choice *choices, const char *port,
                               char text[PORT_TRANSPORT_MOST])
{
    struct transport_choice alone = *nic_port_choice(choices);
    struct text to = text_in(text, PORT_TRANSPORT_MOST);
    char nic[NIC_TEXT_MOST];
    nic_port_take(&alone, port, nic);
    text_add(&to, "%s", alone.transport->name);
    transport_settings_put(&alone, NULL, &to);
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

static int candidates_count(const struct transport_choice *choice, const struct inventory *inventory,
                            struct port_candidate *candidates, int count)
{
    for (int i = 0; i < inventory->count; i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        bool is_port = fact->rule->kind == PART_NIC && strcmp(fact->rule->key, "state") == 0;
        if (!is_port || !is_active(fact) || !choice_allows_nic(choice, fact->part))
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

int nic_ports_find(const struct transport_choice *choices, const struct inventory *inventories, int hosts,
                   const char *ports[RAILS_MOST])
{
    struct port_candidate candidates[RAILS_MOST];
    const struct transport_choice *choice = nic_port_choice(choices);
    int count = 0, known = 0, kept = 0;
    if (!inventories || !choice)
        return 0;
    for (int h = 0; h < hosts; h++) {
        known += inventories[h].count > 0;
        count = candidates_count(choice, &inventories[h], candidates, count);
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
