/*
 * json_fallbacks.c - in JSON, why pairs of ranks do not run over the transport that they prefer.
 */
#include "cli/run/internal.h"

static json_t *fallback_json(const struct fallback *fallback, const struct member *members)
{
    static const char *const causes[FALLBACK_CAUSES] = {
        [FALLBACK_ABSENT] = "absent",
        [FALLBACK_REFUSED] = "refused",
        [FALLBACK_UNREACHABLE] = "unreachable",
    };
    char text[FALLBACK_TEXT_MOST];
    bool told = fallback->reason[0] != '\0';
    json_t *object =
        json_pack("{s:I, s:[i, i], s:s}", "pairs", (json_int_t)fallback->pairs, "example",
                  fallback->low, fallback->high, "text", fallback_text(fallback, members, text));
    json_object_set_new(object, "cause", told ? json_string(causes[fallback->cause]) : json_null());
    json_object_set_new(object, "preferred", told ? json_string(fallback->preferred) : json_null());
    json_object_set_new(object, "taken", told ? json_string(fallback->taken) : json_null());
    json_object_set_new(object, "reason", told ? json_string(fallback->reason) : json_null());
    return object;
}

json_t *fallbacks_json(const struct connectivity *connectivity)
{
    const struct fallbacks *fallbacks = &connectivity->fallbacks;
    json_t *list = json_array();
    for (int i = 0; i < fallbacks->count; i++)
        json_array_append_new(list, fallback_json(&fallbacks->list[i], connectivity->members));
    if (fallbacks->further.pairs > 0)
        json_array_append_new(list, fallback_json(&fallbacks->further, connectivity->members));
    return list;
}
