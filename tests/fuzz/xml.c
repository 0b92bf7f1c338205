/*
 * xml.c - XML files of users.
 *
 * Input: the text.
 */
#include "base/log.h"
#include "base/xml.h"
#include "fuzz.h"

/* `above`: the depth of the element's parent. Returns the number of elements. */
static int require_element(const struct xml *xml, const struct xml_element *element, int above)
{
    int count = 0;
    require(above < XML_DEPTH_MOST);
    for (; element; element = element->next) {
        int64_t value;
        require(element->name[0] && element->line > 0);
        require(!xml_attribute(element, ""));
        if (xml_number(xml, element, "n", -5, 5, &value) == STATUS_OK)
            require(value >= -5 && value <= 5 && xml_attribute(element, "n"));
        count += 1 + require_element(xml, element->children, above + 1);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    struct reader input = {.at = data, .left = size};
    unsigned char *text = input_copy(&input, &size);
    struct arena *arena = arena_create();
    struct xml xml;
    if (!arena)
        abort();
    enum status status = xml_parse("input", (const char *)text, size, arena, &xml);
    if (status == STATUS_OK)
        require(xml.root && !xml.root->next &&
                require_element(&xml, xml.root, 0) <= XML_ELEMENTS_MOST);
    else
        require(log.failure.text[0]);
    arena_free(arena);
    free(text);
    log_attach(NULL);
    return 0;
}

static void seed(const char *name, const char *text)
{
    fuzz_seed(name, text, strlen(text));
}

void fuzz_seeds(void)
{
    seed(
        "tree",
        "<?xml version=\"1.0\"?>\n<a n=\"4\"><!-- c --><b n='-2' m='&lt;&#65;'/>\n<c><d/></c></a>");
    seed("type", "<!DOCTYPE a [<!ENTITY x 'y'>]><a b='&x;'/>");
    seed("text", "<a>\n<![CDATA[ ]]><b>x</b></a>");
    seed("latin", "<?xml version='1.0' encoding='iso-8859-1'?><a b='\xe9'/>");
}
