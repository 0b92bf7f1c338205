/*
 * load_json.c - the load of links in JSON.
 */
#include "cli/predict/predict.h"

#include <stdlib.h>

static json_t *name_json(const struct link_load *load, uint32_t number)
{
    struct topology_link link;
    if (number == NO_LINK)
        return json_null();
    topology_link_get(link_load_topology(load), number, &link);
    return json_string(link.name);
}

static json_t *steps_json(const struct link_load *load)
{
    json_t *steps = json_array();
    for (int s = 0; s < link_load_steps(load); s++) {
        struct step_load step = link_load_step(load, s);
        json_array_append_new(steps, json_pack("{s:f, s:f, s:o}", "rank_bytes", step.ends,
                                               "link_bytes_by_rate", step.links, "link",
                                               name_json(load, step.link)));
    }
    return steps;
}

static json_t *link_json(const struct link_load *load, const struct loaded_link *link, double ends)
{
    json_t *by_step = json_array();
    for (int s = 0; s < link_load_steps(load); s++)
        json_array_append_new(by_step, json_real(link_load_bytes(load, s, link->link)));
    return json_pack("{s:o, s:f, s:f, s:f, s:o}", "link", name_json(load, link->link), "rate",
                     topology_capacity(link_load_topology(load), link->link), "bytes", link->bytes,
                     "busy", ends > 0 ? link->time / ends : 0.0, "bytes_by_step", by_step);
}

json_t *load_json(const struct link_load *load)
{
    uint32_t all = topology_links(link_load_topology(load));
    double ends = link_load_sums(load).ends;
    struct loaded_link *top = calloc((size_t)all + 1, sizeof *top);
    int count = top ? link_load_top(load, top, (int)all) : 0;
    int shown = LOAD_NUMBERS_MOST / (link_load_steps(load) + 1);
    json_t *links = json_array();
    for (int i = 0; i < count && i < shown; i++)
        json_array_append_new(links, link_json(load, &top[i], ends));
    free(top);
    return json_pack("{s:f, s:o, s:o, s:i}", "congestion_factor", link_load_factor(load), "steps",
                     steps_json(load), "links", links, "links_left_out",
                     count > shown ? count - shown : 0);
}

json_t *topology_json(const struct topology *topology)
{
    return json_pack("{s:s, s:i, s:i, s:I}", "words", topology_words(topology), "hosts",
                     topology_hosts(topology), "places", topology_ends(topology), "links",
                     (json_int_t)topology_links(topology));
}
