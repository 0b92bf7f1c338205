/*
 * finding.c - encodes and decodes findings.
 */
#include "run/check/check.h"

#define FEW 8 /* wrong elements that may just be corrupted, whatever is in them */

int finding_explanations(const struct finding *finding)
{
    int count = finding->explanation_count;
    return count < FINDING_EXPLANATIONS ? count : FINDING_EXPLANATIONS;
}

int finding_elements(const struct finding *finding)
{
    return finding->unexplained < FINDING_ELEMENTS ? (int)finding->unexplained : FINDING_ELEMENTS;
}

bool finding_is_corruption(const struct finding *finding)
{
    return finding->unexplained > 0 &&
           (finding->wrong <= FEW || finding->single_bits == finding->unexplained);
}

/* Encoding. */

static void put_int(struct bytes *bytes, int value)
{
    bytes_put_u32(bytes, (uint32_t)value);
}

static void hypothesis_encode(const struct hypothesis *hypothesis, struct bytes *bytes)
{
    put_int(bytes, (int)hypothesis->kind);
    put_int(bytes, (int)hypothesis->set.shape);
    put_int(bytes, hypothesis->set.first);
    put_int(bytes, hypothesis->set.length);
    put_int(bytes, hypothesis->set.modulus);
    put_int(bytes, hypothesis->set.inverted);
    put_int(bytes, hypothesis->source);
    put_int(bytes, hypothesis->instead);
    bytes_put_u64(bytes, (uint64_t)hypothesis->shift);
    put_int(bytes, hypothesis->before);
}

static void explanation_encode(const struct explanation *explanation, struct bytes *bytes)
{
    bytes_put_u64(bytes, explanation->fitting);
    for (uint64_t i = 0; i < FINDING_HYPOTHESES && i < explanation->fitting; i++)
        hypothesis_encode(&explanation->hypotheses[i], bytes);
    put_int(bytes, explanation->chance);
    put_int(bytes, explanation->at_least);
    bytes_put_u64(bytes, explanation->first);
    bytes_put_u64(bytes, explanation->last);
    bytes_put_u64(bytes, explanation->stretches);
    put_int(bytes, explanation->source_count);
    for (int i = 0; i < explanation->source_count; i++)
        put_int(bytes, explanation->sources[i]);
}

static void element_encode(const struct wrong_element *element, struct bytes *bytes)
{
    bytes_put_u64(bytes, element->at);
    put_int(bytes, element->source);
    bytes_put(bytes, element->expected, sizeof element->expected);
    bytes_put(bytes, element->got, sizeof element->got);
}

void finding_encode(const struct finding *finding, struct bytes *bytes)
{
    put_int(bytes, (int)finding->kind);
    if (finding->kind == FINDING_NONE)
        return;
    bytes_put_u64(bytes, finding->iteration);
    bytes_put_u64(bytes, finding->wrong);
    put_int(bytes, (int)finding->overrun.buffer);
    bytes_put_u64(bytes, finding->overrun.bytes);
    bytes_put_u64(bytes, (uint64_t)finding->overrun.first);
    put_int(bytes, finding->root);
    put_int(bytes, finding->hop_peer);
    put_int(bytes, finding->hop_step);
    element_encode(&finding->first, bytes);
    put_int(bytes, (int)finding->diagnosis);
    put_int(bytes, finding->explanation_count);
    for (int i = 0; i < finding_explanations(finding); i++)
        explanation_encode(&finding->explanations[i], bytes);
    bytes_put_u64(bytes, finding->unexplained);
    bytes_put_u64(bytes, finding->single_bits);
    for (int i = 0; i < finding_elements(finding); i++)
        element_encode(&finding->elements[i], bytes);
    bytes_put_u64(bytes, finding->unlooked);
}

/* Decoding. A number out of its range makes the reader bad. */

static int read_int(struct reader *reader, int least, int most)
{
    int value = (int)read_u32(reader);
    if (value >= least && value <= most)
        return value;
    reader->bad = true;
    return least;
}

static bool read_bool(struct reader *reader)
{
    return read_int(reader, 0, 1) != 0;
}

static void hypothesis_decode(struct reader *reader, int ranks, struct hypothesis *hypothesis)
{
    hypothesis->kind =
        (enum hypothesis_kind)read_int(reader, HYPOTHESIS_UNWRITTEN, HYPOTHESIS_ELSEWHERE);
    hypothesis->set.shape = (enum set_shape)read_int(reader, SET_INTERVAL, SET_FOLDED);
    hypothesis->set.first = read_int(reader, 0, ranks - 1);
    hypothesis->set.length = read_int(reader, 0, ranks);
    hypothesis->set.modulus =
        read_int(reader, hypothesis->set.shape == SET_INTERVAL ? 0 : 1, INT32_MAX);
    hypothesis->set.inverted = read_bool(reader);
    hypothesis->source = read_int(reader, EVERY_RANK, ranks - 1);
    hypothesis->instead = read_int(reader, EVERY_RANK, ranks - 1);
    hypothesis->shift = (int64_t)read_u64(reader);
    hypothesis->before = read_bool(reader);
}

static void explanation_decode(struct reader *reader, int ranks, struct explanation *explanation)
{
    explanation->fitting = read_u64(reader);
    reader->bad |= explanation->fitting == 0;
    for (uint64_t i = 0; i < FINDING_HYPOTHESES && i < explanation->fitting; i++)
        hypothesis_decode(reader, ranks, &explanation->hypotheses[i]);
    explanation->chance = read_bool(reader);
    explanation->at_least = read_bool(reader);
    explanation->first = read_u64(reader);
    explanation->last = read_u64(reader);
    explanation->stretches = read_u64(reader);
    explanation->source_count = read_int(reader, 0, FINDING_SOURCES);
    for (int i = 0, least = 0; i < explanation->source_count; i++, least++)
        least = explanation->sources[i] = read_int(reader, least, ranks - 1);
}

static void element_decode(struct reader *reader, int ranks, struct wrong_element *element)
{
    element->at = read_u64(reader);
    element->source = read_int(reader, EVERY_RANK, ranks - 1);
    const unsigned char *expected = read_bytes(reader, sizeof element->expected);
    const unsigned char *got = read_bytes(reader, sizeof element->got);
    for (size_t i = 0; got && i < sizeof element->got; i++) {
        element->expected[i] = expected[i];
        element->got[i] = got[i];
    }
}

bool finding_decode(struct reader *reader, int ranks, struct finding *finding)
{
    *finding = (struct finding){0};
    finding->kind = (enum finding_kind)read_int(reader, FINDING_NONE, FINDING_OVERRUN);
    if (finding->kind == FINDING_NONE)
        return !reader->bad;
    finding->iteration = read_u64(reader);
    finding->wrong = read_u64(reader);
    finding->overrun.buffer = (enum buffer)read_int(reader, BUFFER_SOURCE, BUFFERS - 1);
    finding->overrun.bytes = read_u64(reader);
    finding->overrun.first = (int64_t)read_u64(reader);
    finding->root = read_int(reader, 0, ranks - 1);
    finding->hop_peer = read_int(reader, -1, ranks - 1);
    finding->hop_step = read_int(reader, -1, INT32_MAX);
    element_decode(reader, ranks, &finding->first);
    finding->diagnosis =
        (enum diagnosis_state)read_int(reader, DIAGNOSIS_MADE, DIAGNOSIS_OVERTAKEN);
    finding->explanation_count = read_int(reader, 0, INT32_MAX);
    for (int i = 0; i < finding_explanations(finding); i++)
        explanation_decode(reader, ranks, &finding->explanations[i]);
    finding->unexplained = read_u64(reader);
    finding->single_bits = read_u64(reader);
    for (int i = 0; i < finding_elements(finding); i++)
        element_decode(reader, ranks, &finding->elements[i]);
    finding->unlooked = read_u64(reader);
    return !reader->bad;
}
