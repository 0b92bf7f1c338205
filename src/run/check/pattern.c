/*
 * pattern.c - the results that must come of the inputs, by contract.
 */
#include "run/check/check.h"

#include <string.h>

#include "base/text.h"

bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation)
{
    const struct problem *problem = &pattern->problem;
    /* The first expectation that ends behind `at`: none before index `low` does. */
    int low = 0, step = 1;
    while (collective_expects(problem, rank, low + step - 1, expectation) &&
           expectation->at + expectation->length <= at) {
        low += step;
        step *= 2;
    }
    int high = low + step - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (collective_expects(problem, rank, middle, expectation) &&
            expectation->at + expectation->length <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return collective_expects(problem, rank, low, expectation);
}

void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to)
{
    struct expectation expectation;
    char *at = to;
    while (count > 0 && pattern_expectation(pattern, rank, first, &expectation)) {
        size_t inside = first - expectation.at;
        size_t length = expectation.length - inside;
        length = length < count ? length : count;
        inputs_expect(&pattern->inputs, expectation.rank, expectation.from + inside, length, at);
        first += length;
        count -= length;
        at += length * pattern->inputs.datatype->size;
    }
}

void pattern_format(const struct datatype *type, const void *value, char *text, size_t size)
{
    unsigned char poison[DATATYPE_SIZE_MOST];
    memset(poison, PATTERN_POISON, type->size);
    if (memcmp(value, poison, type->size) != 0) {
        datatype_print(type, value, text, size);
        return;
    }
    struct text out = text_in(text, size);
    text_add(&out, "poison (0x");
    for (size_t i = 0; i < type->size; i++)
        text_add(&out, "%02x", PATTERN_POISON);
    text_add(&out, ")");
}
