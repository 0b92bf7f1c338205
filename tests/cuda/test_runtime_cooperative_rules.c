/*
 * test_runtime_cooperative_rules.c - rules of the stand-in for cooperative kernels, each with what
 * breaks it and the sentence that ends it.
 * tier: deep; load: cpu1
 */
#include "meeting.h"
#include "rules.h"

static struct card card;

static void ordinary_asks(uint64_t what, const char *settings)
{
    card = card_open(settings);
    card_launch(kernel_asks, (dim3){1, 1, 1}, (dim3){1, 1, 1}, (struct test_work){.value = what},
                card.stream);
    cudaStreamSynchronize(card.stream);
}

static void ordinary_barrier(void)
{
    ordinary_asks(0, "");
}

static void ordinary_barrier_async(void)
{
    ordinary_asks(0, "mode=async");
}

static void ordinary_shared(void)
{
    ordinary_asks(1, "");
}

static void trap(void)
{
    ordinary_asks(2, "mode=async");
}

static void barriers_differ(void)
{
    card = card_open("");
    meeting_launch(kernel_divide, 1, 2, 0, card.memory, (struct test_meeting){0}, card.stream);
    cudaStreamSynchronize(card.stream);
}

static void lazy(void)
{
    card = card_open("strict=yes");
    gate_launch(&card, 1);
}

static void argument_of_host(void)
{
    card = card_open("");
    void *arguments[] = {&card.pinned};
    cudaLaunchCooperativeKernel((const void *)(uintptr_t)kernel_meet, (dim3){1, 1, 1},
                                (dim3){1, 1, 1}, arguments, 0, card.stream);
}

/* The argument, or what it has the address of, is memory of a device without peer access. */
static void far_memory(bool argument)
{
    card = card_open("mode=async");
    uint32_t *far;
    cudaSetDevice(1);
    cudaMalloc((void **)&far, CARD_BYTES);
    cudaSetDevice(0);
    meeting_launch(kernel_meet, 1, 1, 0, argument ? far : card.memory,
                   (struct test_meeting){.from = (uintptr_t)far}, card.stream);
    if (!argument)
        cudaStreamSynchronize(card.stream);
}

static void argument_far(void)
{
    far_memory(true);
}

static void word_far(void)
{
    far_memory(false);
}

/* A kernel runs, and waits. */
static void gate_shut(const char *settings)
{
    card = card_open(settings);
    kernel_loaded(kernel_meet);
    gate_launch(&card, 1);
    gate_begun(&card);
}

static void argument_freed(void)
{
    gate_shut("");
    cudaFree(card.memory);
}

/* Only a word behind the argument has its address. */
static void word_freed(void)
{
    card = card_open("");
    uint32_t **words = runtime_view(card.memory);
    words[CARD_BYTES / sizeof *words - 1] = card.other + 3;
    gate_launch(&card, 1);
    gate_begun(&card);
    cudaFree(card.other);
}

static void pinned_freed(void)
{
    gate_shut("mode=async");
    cudaFreeHost(card.pinned);
}

static void strict_malloc(void)
{
    void *memory;
    gate_shut("strict=yes");
    cudaMalloc(&memory, 100);
}

static void strict_free(void)
{
    gate_shut("strict=yes,mode=async");
    cudaFree(card.other);
}

static void strict_host_alloc(void)
{
    void *memory;
    gate_shut("strict=yes");
    cudaHostAlloc(&memory, 100, 0);
}

static void strict_free_host(void)
{
    void *memory;
    card = card_open("strict=yes");
    kernel_loaded(kernel_meet);
    cudaHostAlloc(&memory, 100, 0);
    gate_launch(&card, 1);
    cudaFreeHost(memory);
}

/* A kernel that waits runs, and another one begins on the device for the first time. */
static void strict_first(void)
{
    gate_shut("strict=yes");
    kernel_loaded(kernel_divide);
    meeting_launch(kernel_divide, 1, 1, 0, card.other, (struct test_meeting){0}, card.stream);
}

/* The one that waits is of this kernel, too, and no launch of it is done. */
static void strict_second(void)
{
    cudaStream_t stream;
    gate_shut("strict=yes");
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    meeting_launch(kernel_meet, 1, 1, 0, card.other, (struct test_meeting){0}, stream);
}

/* The cases below end without a sentence. While a kernel runs its memory can be reached, and no
 * more when it has ended. */
static void closed_again(void)
{
    gate_shut("");
    if (*(volatile uint32_t *)card.memory != 1)
        _exit(0);
    gate_open(&card);
    cudaStreamSynchronize(card.stream);
    printf("%u", *(volatile uint32_t *)card.memory);
}

static void kernel_beyond(void)
{
    card = card_open("");
    meeting_launch(kernel_meet, 1, 1, 0, card.memory,
                   (struct test_meeting){.to = (uintptr_t)card.memory + 4096}, card.stream);
    cudaStreamSynchronize(card.stream);
}

static const struct rule_case rules[] = {
    {"ordinary_barrier", ordinary_barrier, "not launched cooperatively has a barrier"},
    {"ordinary_barrier_async", ordinary_barrier_async, "not launched cooperatively has a barrier"},
    {"ordinary_shared", ordinary_shared, "not launched cooperatively has shared memory"},
    {"trap", trap, "a kernel calls __trap()"},
    {"barriers_differ", barriers_differ, "the threads of a block are at different barriers"},
    {"lazy", lazy, "a kernel is launched that was not loaded before"},
    {"argument_of_host", argument_of_host, "is the address of no device memory"},
    {"argument_far", argument_far, "of GPU 1, to which it has no peer access"},
    {"word_far", word_far, "of GPU 1, to which it has no peer access"},
    {"argument_freed", argument_freed, "cudaFree: queued work uses the memory"},
    {"word_freed", word_freed, "cudaFree: queued work uses the memory"},
    {"pinned_freed", pinned_freed, "cudaFreeHost: queued work uses the memory"},
    {"strict_malloc", strict_malloc, "cudaMalloc waits for a kernel that waits"},
    {"strict_free", strict_free, "cudaFree waits for a kernel that waits"},
    {"strict_host_alloc", strict_host_alloc, "cudaHostAlloc waits for a kernel that waits"},
    {"strict_free_host", strict_free_host, "cudaFreeHost waits for a kernel that waits"},
    {"strict_first", strict_first, "the first launch of a kernel waits for a kernel"},
    {"strict_second", strict_second, "the first launch of a kernel waits for a kernel"},
    {"closed_again", closed_again, NULL},
    {"kernel_beyond", kernel_beyond, NULL},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

int main(void)
{
    struct CMUnitTest tests[RULES];
    for (size_t i = 0; i < RULES; i++)
        tests[i] = rule_test(&rules[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
