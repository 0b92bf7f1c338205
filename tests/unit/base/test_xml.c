/*
 * test_xml.c - an XML file becomes the tree that stands in it; one that is cut off, too deep, too
 * large or has what is not read becomes one sentence with its line.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "base/log.h"
#include "base/xml.h"

static struct log test_log;
static struct arena *arena;

static enum status parse(const char *text, struct xml *xml)
{
    log_init(&test_log, -1, 0);
    return xml_parse("a.xml", text, strlen(text), arena, xml);
}

static int set_up(void **state)
{
    (void)state;
    log_attach(&test_log);
    arena = arena_create();
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void test_tree(void **state)
{
    (void)state;
    struct xml xml;
    assert_int_equal(
        parse("<?xml version='1.0'?>\n<!-- a comment -->\n<system name=\"a &amp; b\">\n"
              "  <cpu numaid='0' empty=''/>\n  <nic/><gpu><x/></gpu>\n</system>\n",
              &xml),
        STATUS_OK);
    const struct xml_element *root = xml.root, *cpu = root->children, *nic = cpu->next,
                             *gpu = nic->next;
    assert_string_equal(root->name, "system");
    assert_int_equal(root->line, 3);
    assert_null(root->next);
    assert_string_equal(xml_attribute(root, "name"), "a & b");
    assert_string_equal(cpu->name, "cpu");
    assert_int_equal(cpu->line, 4);
    assert_string_equal(xml_attribute(cpu, "numaid"), "0");
    assert_string_equal(xml_attribute(cpu, "empty"), "");
    assert_null(xml_attribute(cpu, "name"));
    assert_null(xml_attribute(cpu, "0"));
    assert_null(cpu->children);
    assert_string_equal(nic->name, "nic");
    assert_int_equal(nic->line, 5);
    assert_string_equal(gpu->children->name, "x");
    assert_null(gpu->next);
}

static void test_numbers(void **state)
{
    (void)state;
    struct xml xml;
    int64_t value;
    assert_int_equal(parse("<a low='-1' high='7' over='8' word='7x' none='' blank=' 7' plus='+7' "
                           "huge='99999999999999999999'/>",
                           &xml),
                     STATUS_OK);
    assert_int_equal(xml_number(&xml, xml.root, "low", -1, 7, &value), STATUS_OK);
    assert_int_equal(value, -1);
    assert_int_equal(xml_number(&xml, xml.root, "high", -1, 7, &value), STATUS_OK);
    assert_int_equal(value, 7);
    const char *const wrong[] = {"over", "word", "none", "blank", "plus", "huge", "absent"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(xml_number(&xml, xml.root, wrong[i], -1, 7, &value), STATUS_USAGE);
    assert_string_equal(test_log.failure.text,
                        "a.xml:1: over of <a> is '8', not a whole number from -1 to 7");
}

static void expect_refusal(const char *text, const char *sentence)
{
    struct xml xml;
    assert_int_equal(parse(text, &xml), STATUS_USAGE);
    assert_string_equal(test_log.failure.text, sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("", "a.xml:1: this is no XML: no element found");
    expect_refusal("<a>\n<b>\n", "a.xml:3: this is no XML: no element found");
    expect_refusal("<a>\n<b></a>", "a.xml:2: this is no XML: mismatched tag");
    expect_refusal("<a>\n<b c='", "a.xml:2: this is no XML: unclosed token");
    expect_refusal("<a>\n<b c='1' c='2'/></a>", "a.xml:2: this is no XML: duplicate attribute");
    expect_refusal("<a>\n&none;</a>", "a.xml:2: this is no XML: undefined entity");
    expect_refusal("<a>\n<b/> 7</a>", "a.xml:2: text stands between tags: give attributes only");
    expect_refusal("<!DOCTYPE a [<!ENTITY x 'xx'>]>\n<a b='&x;'/>",
                   "a.xml:1: document types are not read: remove <!DOCTYPE ...>");
}

/* `count` times `piece`, then `rest`. */
static enum status parse_many(const char *piece, int count, const char *rest)
{
    struct xml xml;
    size_t length = strlen(piece);
    char *text = malloc((size_t)count * length + strlen(rest) + 4), *at = text;
    assert_non_null(text);
    at = stpcpy(at, "<r>");
    for (int i = 0; i < count; i++)
        at = stpcpy(at, piece);
    strcpy(at, rest);
    enum status status = parse(text, &xml);
    free(text);
    return status;
}

static void test_limits(void **state)
{
    (void)state;
    parse_many("<d>", XML_DEPTH_MOST - 1, "");
    assert_string_equal(test_log.failure.text, "a.xml:1: this is no XML: no element found");
    parse_many("<d>", XML_DEPTH_MOST, "");
    assert_string_equal(test_log.failure.text,
                        "a.xml:1: elements stand in each other more than 64 deep");
    assert_int_equal(parse_many("<e/>", XML_ELEMENTS_MOST - 1, "</r>"), STATUS_OK);
    assert_int_equal(parse_many("<e/>", XML_ELEMENTS_MOST, "</r>"), STATUS_USAGE);
    assert_string_equal(test_log.failure.text, "a.xml:1: the file has more than 1048576 elements");
    struct xml xml;
    log_init(&test_log, -1, 0);
    assert_int_equal(xml_parse("a.xml", "", XML_BYTES_MOST + 1, arena, &xml), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
