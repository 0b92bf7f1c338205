/*
 * roster.c - who belongs to a fleet, as rank 0 knows it: agents, their hosts, and which are lost.
 */
#include "controlplane/agents/agents.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void roster_open(struct roster *roster, int ranks, const struct join_request *root,
                 const struct address_list *work)
{
    *roster = (struct roster){.ranks = ranks, .present = 1};
    roster->agents = new_array((size_t)ranks, sizeof *roster->agents);
    roster->leaders = new_array((size_t)ranks, sizeof *roster->leaders);
    roster->agents[0] =
        (struct known_agent){.presence = PRESENCE_PRESENT, .request = *root, .work = *work};
    roster->leader_count = 1;
}

void roster_close(struct roster *roster)
{
    free(roster->agents);
    free(roster->leaders);
    free(roster->hosts);
    free(roster->host_agents);
    *roster = (struct roster){0};
}

enum status roster_check(const struct roster *roster, const struct join_request *request, char *why,
                         size_t size)
{
    TRY(join_request_check(&roster->agents[0].request, request, why, size));
    const struct known_agent *agent = &roster->agents[request->rank];
    if (agent->presence == PRESENCE_LOST || roster->complete) {
        snprintf(why, size,
                 "rank %d called too late: rank 0 goes on without it (--timeout says how long it "
                 "waits)",
                 request->rank);
        return STATUS_TIMEOUT;
    }
    if (agent->presence == PRESENCE_ABSENT || join_request_same(&agent->request, request))
        return STATUS_OK;
    snprintf(why, size, "two processes claim rank %d: pid %ld on host %s and pid %ld on host %s",
             request->rank, agent->request.pid, agent->request.host.name, request->pid,
             request->host.name);
    return STATUS_USAGE;
}

/* The leader of a host; -1: it has none yet. */
static int leader_find(const struct roster *roster, const struct host_id *host)
{
    for (int i = 0; i < roster->leader_count; i++) {
        const struct known_agent *leader = &roster->agents[roster->leaders[i]];
        if (leader->presence != PRESENCE_LOST && host_same(&leader->request.host, host))
            return roster->leaders[i];
    }
    return -1;
}

int roster_place(struct roster *roster, const struct join_request *request)
{
    int rank = request->rank;
    struct known_agent *agent = &roster->agents[rank];
    int leader = request->reason == JOIN_AGAIN ? rank : leader_find(roster, &request->host);
    if (leader < 0) {
        leader = rank;
        roster->leaders[roster->leader_count++] = rank;
    }
    roster->present -= agent->presence == PRESENCE_PRESENT;
    agent->request = *request;
    agent->presence = PRESENCE_CALLED;
    agent->via = leader > 0 ? leader : rank;
    return leader == rank ? 0 : leader;
}

void roster_arrive(struct roster *roster, int rank, const struct address_list *work)
{
    struct known_agent *agent = &roster->agents[rank];
    if (agent->presence != PRESENCE_CALLED)
        return;
    agent->work = *work;
    agent->presence = PRESENCE_PRESENT;
    roster->present++;
}

/* Keeps what is known of the first loss of a host. */
static void host_note_lost(struct roster *roster, int rank, const char *stage, const char *doing)
{
    const struct known_agent *agent = &roster->agents[rank];
    struct fleet_host *host = &roster->hosts[agent->host];
    if (host->lost)
        return;
    host->lost = true;
    host->lost_at = agent->lost_at;
    host->lost_agent = rank;
    host->loss = agent->loss;
    snprintf(host->why, sizeof host->why, "%s", agent->why);
    snprintf(host->stage, sizeof host->stage, "%s", stage);
    snprintf(host->doing, sizeof host->doing, "%s", doing);
}

void roster_lose(struct roster *roster, int rank, const char *why, enum agent_loss loss,
                 const char *stage, const char *doing)
{
    struct known_agent *agent = &roster->agents[rank];
    if (agent->presence == PRESENCE_LOST)
        return;
    roster->present -= agent->presence == PRESENCE_PRESENT;
    roster->lost++;
    agent->presence = PRESENCE_LOST;
    agent->loss = loss;
    agent->lost_at = clock_seconds();
    snprintf(agent->why, sizeof agent->why, "%s", why);
    if (roster->complete)
        host_note_lost(roster, rank, stage, doing);
    say_verbose(1, "rank %d on host %s is lost: %s", rank, agent->request.host.name, why);
    for (int other = 1; other < roster->ranks; other++) {
        const struct known_agent *behind = &roster->agents[other];
        if (other != rank && behind->via == rank && behind->presence != PRESENCE_ABSENT)
            roster_lose(roster, other, "the agent that leads its host is lost", loss, stage, doing);
    }
}

/* Numbers the hosts in the order of their first ranks. */
static void hosts_find(struct roster *roster)
{
    size_t ranks = (size_t)roster->ranks;
    int *first = new_array(ranks, sizeof *first), filled = 0;
    roster->hosts = new_array(ranks, sizeof *roster->hosts);
    roster->host_agents = new_array(ranks, sizeof *roster->host_agents);
    for (int rank = 0; rank < roster->ranks; rank++) {
        struct known_agent *agent = &roster->agents[rank];
        const struct host_id *id = &agent->request.host;
        agent->host = -1;
        for (int h = 0; h < roster->host_count && agent->host < 0 && id->name[0]; h++)
            if (host_same(&roster->agents[first[h]].request.host, id))
                agent->host = h;
        if (agent->host < 0) {
            first[roster->host_count] = rank;
            memcpy(roster->hosts[roster->host_count].name, id->name, sizeof id->name);
            agent->host = roster->host_count++;
        }
        roster->hosts[agent->host].count++;
    }
    for (int h = 0; h < roster->host_count; h++) {
        roster->hosts[h].agents = roster->host_agents + filled;
        for (int rank = first[h]; rank < roster->ranks; rank++)
            if (roster->agents[rank].host == h)
                roster->host_agents[filled++] = rank;
    }
    free(first);
}

void roster_complete(struct roster *roster, const char *why)
{
    for (int rank = 1; rank < roster->ranks; rank++) {
        enum presence presence = roster->agents[rank].presence;
        if (presence < PRESENCE_PRESENT)
            roster_lose(roster, rank, why, presence == PRESENCE_ABSENT ? LOSS_ABSENT : LOSS_FAULT,
                        "", "");
    }
    hosts_find(roster);
    roster->complete = true;
    for (int rank = 1; rank < roster->ranks; rank++)
        if (roster->agents[rank].presence == PRESENCE_LOST)
            host_note_lost(roster, rank, "", "");
}

/*
 * The NIC ports of a fleet that its jobs may use.
 */
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

static int candidates_count(const struct transport_choice *choice,
                            const struct inventory *inventory, struct port_candidate *candidates,
                            int count)
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

int nic_ports_find(const struct transport_choice *choices, const struct inventory *inventories,
                   int hosts, const char *ports[RAILS_MOST])
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
