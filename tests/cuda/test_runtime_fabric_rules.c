/*
 * test_runtime_fabric_rules.c - rules of the stand-in for memory with fabric handles, each with
 * what breaks it and the sentence that ends it.
 * tier: deep; load: cpu1
 */
#include "fabric_card.h"
#include "meeting.h"
#include "rules.h"

static struct card card;
static unsigned long long handle;
static unsigned long long at;

static void begin(const char *settings)
{
    card = card_open(settings);
    create(0, UNIT, &handle);
    calls.reserve(&at, UNIT, 0, 0, 0);
}

static void begin_mapped(const char *settings)
{
    begin(settings);
    calls.map(at, UNIT, 0, handle, 0);
}

static void *mapped(void)
{
    return (void *)(uintptr_t)at;
}

static void size_of_create(void)
{
    begin("fabric=yes");
    create(0, UNIT + 4096, &handle);
}

static void properties_other(void)
{
    begin("fabric=yes");
    struct fabric_properties properties = properties_of(0);
    properties.handle_types = 1;
    calls.create(&handle, UNIT, &properties, 0);
}

static void granularity_other(void)
{
    begin("fabric=yes");
    const struct fabric_properties properties = properties_of(0);
    size_t unit;
    calls.granularity(&unit, &properties, 2);
}

static void size_of_reserve(void)
{
    begin("fabric=yes");
    calls.reserve(&at, UNIT - 1, 0, 0, 0);
}

static void released_twice(void)
{
    begin("fabric=yes");
    calls.release(handle);
    calls.release(handle);
}

/* The memory is still there, but this handle of it is gone. */
static void released_twice_mapped(void)
{
    begin_mapped("fabric=yes");
    calls.release(handle);
    calls.release(handle);
}

static void mapped_released(void)
{
    begin("fabric=yes");
    calls.release(handle);
    calls.map(at, UNIT, 0, handle, 0);
}

static void mapped_inside(void)
{
    begin("fabric=yes");
    calls.map(at + 4096, UNIT, 0, handle, 0);
}

static void mapped_not_reserved(void)
{
    begin("fabric=yes");
    calls.unreserve(at, UNIT);
    calls.map(at, UNIT, 0, handle, 0);
}

static void mapped_over(void)
{
    begin_mapped("fabric=yes");
    calls.map(at, UNIT, 0, handle, 0);
}

static void mapped_too_much(void)
{
    begin("fabric=yes");
    calls.reserve(&at, 2 * UNIT, 0, 0, 0);
    calls.map(at, 2 * UNIT, 0, handle, 0);
}

static void unmapped_not_mapped(void)
{
    begin("fabric=yes");
    calls.unmap(at, UNIT);
}

static void unmapped_twice(void)
{
    begin_mapped("fabric=yes");
    calls.unmap(at, UNIT);
    calls.unmap(at, UNIT);
}

static void unmapped_in_part(void)
{
    card = card_open("fabric=yes");
    create(0, 2 * UNIT, &handle);
    calls.reserve(&at, 2 * UNIT, 0, 0, 0);
    calls.map(at, 2 * UNIT, 0, handle, 0);
    calls.unmap(at, UNIT);
}

/* A stream waits for a gate that stays shut. */
static void unmapped_while_copied(void)
{
    begin_mapped("fabric=yes,mode=async");
    access_give(mapped(), UNIT, 0);
    *card.pinned = 0;
    card_launch(kernel_gate, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                (struct test_work){.from = (uintptr_t)card.pinned, .value = 1}, card.stream);
    cudaMemcpyAsync(mapped(), card.memory, 16, cudaMemcpyDefault, card.stream);
    calls.unmap(at, UNIT);
}

static void unmapped_while_launched(void)
{
    begin_mapped("fabric=yes,mode=async");
    access_give(mapped(), UNIT, 0);
    *card.pinned = 0;
    card_launch(kernel_gate, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                (struct test_work){.from = (uintptr_t)card.pinned, .value = 1}, card.stream);
    card_add(&card, mapped(), card.other, 1);
    calls.unmap(at, UNIT);
}

static void unreserved_mapped(void)
{
    begin_mapped("fabric=yes");
    calls.unreserve(at, UNIT);
}

static void unreserved_twice(void)
{
    begin("fabric=yes");
    calls.unreserve(at, UNIT);
    calls.unreserve(at, UNIT);
}

static void access_not_mapped(void)
{
    begin("fabric=yes");
    access_give(mapped(), UNIT, 0);
}

static void access_to_read(void)
{
    begin_mapped("fabric=yes");
    const struct fabric_access access = {{FABRIC_ON_DEVICE, 0}, 1};
    calls.access(at, UNIT, &access, 1);
}

static void kernel_without_access(void)
{
    begin_mapped("fabric=yes,mode=async");
    card_add(&card, card.memory, mapped(), 1);
}

/* It was given to the other device. */
static void kernel_of_other_access(void)
{
    begin_mapped("fabric=yes,mode=async");
    access_give(mapped(), UNIT, 1);
    card_add(&card, card.memory, mapped(), 1);
}

/* Peer access is no access to mapped memory. */
static void kernel_with_peer(void)
{
    card = card_open("fabric=yes,mode=async");
    create(1, UNIT, &handle);
    calls.reserve(&at, UNIT, 0, 0, 0);
    calls.map(at, UNIT, 0, handle, 0);
    access_give(mapped(), UNIT, 1);
    cudaDeviceEnablePeerAccess(1, 0);
    card_add(&card, card.memory, mapped(), 1);
}

/* Memory that is mapped anew has lost its access. */
static void kernel_after_map(void)
{
    begin_mapped("fabric=yes,mode=async");
    access_give(mapped(), UNIT, 0);
    calls.unmap(at, UNIT);
    calls.map(at, UNIT, 0, handle, 0);
    card_add(&card, card.memory, mapped(), 1);
}

static void target_without_access(void)
{
    begin_mapped("fabric=yes");
    cudaMemcpyAsync(mapped(), card.memory, 16, cudaMemcpyDefault, card.stream);
}

static void source_without_access(void)
{
    begin_mapped("fabric=yes");
    access_give(mapped(), UNIT, 1);
    cudaMemcpyAsync(card.memory, mapped(), 16, cudaMemcpyDefault, card.stream);
}

static void memset_without_access(void)
{
    begin_mapped("fabric=yes");
    cudaMemsetAsync(mapped(), 0, 16, card.stream);
}

static void copy_of_unmapped(void)
{
    begin_mapped("fabric=yes");
    access_give(mapped(), UNIT, 0);
    calls.unmap(at, UNIT);
    cudaMemcpyAsync(card.memory, mapped(), 16, cudaMemcpyDefault, card.stream);
}

static void freed(void)
{
    begin_mapped("fabric=yes");
    cudaFree(mapped());
}

static void handle_by_ipc(void)
{
    cudaIpcMemHandle_t lent;
    begin_mapped("fabric=yes");
    cudaIpcGetMemHandle(&lent, mapped());
}

static void retained_not_mapped(void)
{
    begin("fabric=yes");
    calls.retain(&handle, card.memory);
}

static void lent_released(void)
{
    unsigned char lent[FABRIC_HANDLE_BYTES];
    begin("fabric=yes");
    calls.release(handle);
    calls.lend(lent, handle, FABRIC_HANDLE_TYPE, 0);
}

static void borrowed_nothing(void)
{
    unsigned char lent[FABRIC_HANDLE_BYTES] = {0};
    begin("fabric=yes");
    calls.borrow(&handle, lent, FABRIC_HANDLE_TYPE);
}

/* A cooperative kernel that waits runs on the device, beside mapped memory and a handle. */
static void gate_beside(void)
{
    begin("fabric=yes,strict=yes");
    kernel_loaded(kernel_meet);
    calls.map(at, UNIT, 0, handle, 0);
    access_give(mapped(), UNIT, 0);
    gate_launch(&card, 1);
}

static void strict_create(void)
{
    gate_beside();
    create(0, UNIT, &handle);
}

static void strict_map(void)
{
    unsigned long long other;
    gate_beside();
    calls.reserve(&other, UNIT, 0, 0, 0);
    calls.map(other, UNIT, 0, handle, 0);
}

static void strict_access(void)
{
    gate_beside();
    access_give(mapped(), UNIT, 0);
}

static void strict_unmap(void)
{
    gate_beside();
    calls.unmap(at, UNIT);
}

static void strict_release(void)
{
    gate_beside();
    calls.release(handle);
}

static void left_handle(void)
{
    runtime_configure("fabric=yes");
    create(0, UNIT, &handle);
}

static void left_addresses(void)
{
    runtime_configure("fabric=yes");
    calls.reserve(&at, UNIT, 0, 0, 0);
}

static void left_mapping(void)
{
    runtime_configure("fabric=yes");
    create(0, UNIT, &handle);
    place(handle, UNIT);
    calls.release(handle);
}

/* The cases below end without a sentence. */

static void stray_read(void)
{
    begin_mapped("fabric=yes");
    access_give(mapped(), UNIT, 0);
    card_add(&card, mapped(), card.other, 1); /* after a kernel it is closed again */
    printf("%u", *(volatile uint32_t *)mapped());
}

static void read_without_access(void)
{
    begin_mapped("fabric=yes,mode=async");
    printf("%u", *(volatile uint32_t *)mapped());
}

static const char no_access[] = "to which it has no ";

static const struct rule_case rules[] = {
    {"size_of_create", size_of_create, "cuMemCreate: the size is no multiple"},
    {"properties_other", properties_other, "cuMemCreate: these properties are not"},
    {"granularity_other", granularity_other, "cuMemGetAllocationGranularity: it is not for"},
    {"size_of_reserve", size_of_reserve, "cuMemAddressReserve: the size is no multiple"},
    {"released_twice", released_twice, "cuMemRelease: there is no such handle"},
    {"released_twice_mapped", released_twice_mapped, "cuMemRelease: there is no such handle"},
    {"mapped_released", mapped_released, "cuMemMap: a handle and free addresses"},
    {"mapped_inside", mapped_inside, "cuMemMap: a handle and free addresses"},
    {"mapped_not_reserved", mapped_not_reserved, "cuMemMap: a handle and free addresses"},
    {"mapped_over", mapped_over, "cuMemMap: a handle and free addresses"},
    {"mapped_too_much", mapped_too_much, "cuMemMap: a handle and free addresses of its size"},
    {"unmapped_not_mapped", unmapped_not_mapped, "cuMemUnmap: nothing is mapped there"},
    {"unmapped_twice", unmapped_twice, "cuMemUnmap: nothing is mapped there"},
    {"unmapped_in_part", unmapped_in_part, "cuMemUnmap: nothing is mapped there as a whole"},
    {"unmapped_while_copied", unmapped_while_copied, "cuMemUnmap: queued work uses"},
    {"unmapped_while_launched", unmapped_while_launched, "cuMemUnmap: queued work uses"},
    {"unreserved_mapped", unreserved_mapped, "cuMemAddressFree: memory is mapped there"},
    {"unreserved_twice", unreserved_twice, "cuMemAddressFree: these addresses are not"},
    {"access_not_mapped", access_not_mapped, "cuMemSetAccess: nothing is mapped there"},
    {"access_to_read", access_to_read, "cuMemSetAccess: a device that reads and writes"},
    {"kernel_without_access", kernel_without_access, no_access},
    {"kernel_of_other_access", kernel_of_other_access, no_access},
    {"kernel_with_peer", kernel_with_peer, no_access},
    {"kernel_after_map", kernel_after_map, no_access},
    {"target_without_access", target_without_access, "a copy of GPU 0 uses mapped memory"},
    {"source_without_access", source_without_access, "a copy of GPU 0 uses mapped memory"},
    {"memset_without_access", memset_without_access, "a memset of GPU 0 uses mapped memory"},
    {"copy_of_unmapped", copy_of_unmapped, "was freed"},
    {"freed", freed, "cudaFree: the memory at"},
    {"handle_by_ipc", handle_by_ipc, "cudaIpcGetMemHandle: no memory of a device begins"},
    {"retained_not_mapped", retained_not_mapped, "cuMemRetainAllocationHandle: no memory"},
    {"lent_released", lent_released, "cuMemExportToShareableHandle: a handle of memory"},
    {"borrowed_nothing", borrowed_nothing, "cuMemImportFromShareableHandle: this is no handle"},
    {"strict_create", strict_create, "cuMemCreate waits for a kernel that waits"},
    {"strict_map", strict_map, "cuMemMap waits for a kernel that waits"},
    {"strict_access", strict_access, "cuMemSetAccess waits for a kernel that waits"},
    {"strict_unmap", strict_unmap, "cuMemUnmap waits for a kernel that waits"},
    {"strict_release", strict_release, "cuMemRelease waits for a kernel that waits"},
    {"left_handle", left_handle, "at the end there are addresses or handles"},
    {"left_addresses", left_addresses, "at the end there are addresses or handles"},
    {"left_mapping", left_mapping, "at the end there are 1 pieces of memory"},
    {"stray_read", stray_read, NULL},
    {"read_without_access", read_without_access, NULL},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

int main(void)
{
    struct CMUnitTest tests[RULES];
    runtime_configure("");
    calls_find();
    for (size_t i = 0; i < RULES; i++)
        tests[i] = rule_test(&rules[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
