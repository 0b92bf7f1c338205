/*
 * actions.c - what to do about a finding: it follows from what was seen, and from nothing else.
 */
#include "accept/accept.h"

#include <string.h>

const char *const action_words[ACTIONS] = {
    [ACTION_CABLE] = "cable",     [ACTION_RESEAT] = "reseat",
    [ACTION_REPLACE] = "replace", [ACTION_FIRMWARE] = "firmware",
    [ACTION_LOAD] = "load",       [ACTION_RECONFIGURE] = "reconfigure",
    [ACTION_REBOOT] = "reboot",   [ACTION_DIAGNOSE] = "diagnose",
    [ACTION_SWITCH] = "switch",   [ACTION_TAKE_OUT] = "take-out",
    [ACTION_START] = "start"};

static const struct {
    enum action action;
    const char *advice;
} found_actions[FOUND_KINDS] = {
    [FOUND_LOST] = {ACTION_REBOOT, "look at its console and its kernel log, and reboot it if it "
                                   "does not answer"},
    [FOUND_ABSENT] = {ACTION_START, "start this agent, whose own standard error says why it did "
                                    "not call rank 0"},
    [FOUND_ENDED] = {ACTION_START, "look for what ended the process (the out-of-memory killer, a "
                                   "kill, a limit of the job, a shutdown), and run again"},
    [FOUND_ROOT_CUT] = {ACTION_CABLE, "look at its link and its switch port, and start the run "
                                      "again from another host"},
    [FOUND_STOPPED] = {ACTION_LOAD, "look for other load on its cores, for steal time of a virtual "
                                    "machine, and for limits of a control group"},
    [FOUND_UNHEARD] = {ACTION_CABLE, "look at its cable, its transceiver and its switch port"},
    [FOUND_FAILED] = {ACTION_REBOOT, "look at its kernel log, and reboot it if this comes again"},
    [FOUND_CARRIER] = {ACTION_CABLE, "reseat or replace its cable and its transceiver, and look at "
                                     "the port at the other end"},
    [FOUND_RATE] = {ACTION_RESEAT, "reseat or replace its cable, and compare the speeds that both "
                                   "ports are set to"},
    [FOUND_LINK_ERRORS] = {ACTION_CABLE, "reseat or replace its cable and its transceiver, and "
                                         "look at the port at the other end"},
    [FOUND_LOSS] = {ACTION_CABLE, "look at the cable, the transceiver and the switch port, and at "
                                  "the errors that each of them counts"},
    [FOUND_DOUBLED] = {ACTION_SWITCH, "look for a loop of bridges, a mirror port, or a switch that "
                                      "floods"},
    [FOUND_MTU] = {ACTION_RECONFIGURE, "set one MTU for the interfaces, the switch ports and the "
                                       "routes between"},
    [FOUND_SLOW_PORT] = {ACTION_CABLE, "look at the speed that its port has negotiated, at its "
                                       "cable and at its switch port"},
    [FOUND_SLOW_PATH] = {ACTION_SWITCH, "look at the switches and the routes between the two "
                                        "hosts, since both are good with others"},
    [FOUND_LATENCY] = {ACTION_LOAD, "look for other load on its cores, and for their power saving"},
    [FOUND_NETWORK] = {ACTION_SWITCH, "look at the switches that these hosts share, and at their "
                                      "uplinks"},
    [FOUND_WRONG_DATA] = {ACTION_TAKE_OUT, "take it out, and test its memory and its NIC"},
    [FOUND_PART] = {ACTION_RESEAT, "reseat or replace the part, and look whether the host's setup "
                                   "disables it"},
    [FOUND_MODEL] = {ACTION_REPLACE, "replace the part by the one that the other hosts have"},
    [FOUND_PCIE] = {ACTION_RESEAT, "reseat the card, and look at its slot and its riser"},
    [FOUND_NVLINK] = {ACTION_RESEAT, "reseat the GPU or its bridge, and reset it"},
    [FOUND_MEMORY_ERRORS] = {ACTION_REPLACE, "run the diagnostics of this memory, and replace the "
                                             "part if they fail"},
    [FOUND_HEAT] = {ACTION_DIAGNOSE, "look at its fans, its temperatures and its power supply"},
    [FOUND_GPU_WAITS] = {ACTION_REBOOT, "reset the GPU, or reboot the host"},
    [FOUND_CROWDED] = {ACTION_LOAD, "look for processes that hold memory, and for files in "
                                    "/dev/shm that ended jobs left"},
    [FOUND_FIRMWARE] = {ACTION_FIRMWARE, "install the firmware that the other hosts have"},
    [FOUND_SETTING] = {ACTION_RECONFIGURE, "set it as the other hosts or the profile have it"},
    [FOUND_CLOCK] = {ACTION_RECONFIGURE, "set its clock, and look at its NTP or PTP service"},
    [FOUND_ALL_MISS] = {ACTION_RECONFIGURE, "look for a setting that all hosts share, and for what "
                                            "has changed"},
    [FOUND_NUMBER] = {ACTION_DIAGNOSE, "run the diagnostics of this part, and look for other load "
                                       "and limits of its clock"},
    [FOUND_DRIFT] = {ACTION_DIAGNOSE, "look at its temperatures, its clocks and its error counters "
                                      "over this time"},
};

enum action found_action(enum found_kind kind)
{
    return found_actions[kind].action;
}

const char *found_advice(enum found_kind kind)
{
    return found_actions[kind].advice;
}

/* ---- facts ---- */

/* Facts of all kinds of parts; one that is not here is a setting. */
static const struct {
    const char *key;
    enum found_kind kind;
} fact_kinds[] = {
    {"silent", FOUND_FAILED},
    {"cpu.model", FOUND_MODEL},
    {"cpu.sockets", FOUND_PART},
    {"cpu.cores", FOUND_PART},
    {"cpu.threads", FOUND_PART},
    {"cpu.throttled", FOUND_HEAT},
    {"memory.bytes", FOUND_PART},
    {"memory.available", FOUND_CROWDED},
    {"edac.uncorrected", FOUND_MEMORY_ERRORS},
    {"edac.corrected", FOUND_MEMORY_ERRORS},
    {"shm.free", FOUND_CROWDED},
    {"numa.count", FOUND_PART},
    {"nic.count", FOUND_PART},
    {"interface.count", FOUND_PART},
    {"gpu.count", FOUND_PART},
    {"drive.count", FOUND_PART},
    {"memory", FOUND_PART},
    {"state", FOUND_CARRIER},
    {"rate", FOUND_RATE},
    {"width", FOUND_RATE},
    {"speed", FOUND_RATE},
    {"duplex", FOUND_RATE},
    {"model", FOUND_MODEL},
    {"product", FOUND_MODEL},
    {"firmware", FOUND_FIRMWARE},
    {"vbios", FOUND_FIRMWARE},
    {"pcie.width", FOUND_PCIE},
    {"pcie.speed", FOUND_PCIE},
    {"aer.fatal", FOUND_PCIE},
    {"aer.nonfatal", FOUND_PCIE},
    {"aer.correctable", FOUND_PCIE},
    {"row_remapping", FOUND_GPU_WAITS},
    {"ecc_uncorrected", FOUND_MEMORY_ERRORS},
    {"row_remap_failed", FOUND_MEMORY_ERRORS},
    {"nvlinks_up", FOUND_NVLINK},
    {"nvlinks_down", FOUND_NVLINK},
};

enum found_kind fact_kind(const struct inventory_fact *fact)
{
    for (size_t i = 0; fact && i < sizeof fact_kinds / sizeof fact_kinds[0]; i++)
        if (strcmp(fact_kinds[i].key, fact->rule->key) == 0)
            return fact_kinds[i].kind;
    return fact ? FOUND_SETTING : FOUND_PART;
}

/* ---- counters ---- */

/* Parts of names, of which each counter that tells something has one; the worst first. */
static const struct {
    const char *part;
    enum found_kind kind;
} counter_kinds[] = {
    {"gpu_lost", FOUND_GPU_WAITS},
    {"memory_errors", FOUND_MEMORY_ERRORS},
    {"ecc_", FOUND_MEMORY_ERRORS},
    {"remap", FOUND_MEMORY_ERRORS},
    {"_fatal", FOUND_PCIE},
    {"_nonfatal", FOUND_PCIE},
    {"_correctable", FOUND_PCIE},
    {"pcie_replays", FOUND_PCIE},
    {"nvlink", FOUND_NVLINK},
    {"thermal", FOUND_HEAT},
    {"power_brake", FOUND_HEAT},
    {"carrier", FOUND_CARRIER},
    {"link_downed", FOUND_CARRIER},
    {"symbol_error", FOUND_LINK_ERRORS},
    {"link_error_recovery", FOUND_LINK_ERRORS},
    {"port_rcv_errors", FOUND_LINK_ERRORS},
    {"port_rcv_remote_physical_errors", FOUND_LINK_ERRORS},
    {"local_link_integrity_errors", FOUND_LINK_ERRORS},
    {"rx_errors", FOUND_LINK_ERRORS},
    {"rx_crc_errors", FOUND_LINK_ERRORS},
    {"rx_frame_errors", FOUND_LINK_ERRORS},
    {"rx_icrc_encapsulated", FOUND_LINK_ERRORS},
    {"InErrs", FOUND_LINK_ERRORS},
    {"InCsumErrors", FOUND_LINK_ERRORS},
    {"local_ack_timeout_err", FOUND_LOSS},
    {"packet_seq_err", FOUND_LOSS},
    {"out_of_sequence", FOUND_LOSS},
    {"RetransSegs", FOUND_LOSS},
    {"to_retransmits", FOUND_LOSS},
};

static bool counts(const struct counter_list *list, const char *part)
{
    bool any = false;
    for (int i = 0; i < list->count; i++)
        any |= list->counters[i].class == COUNTER_FAULTY && list->counters[i].value > 0 &&
               strstr(list->counters[i].name, part);
    return any;
}

enum found_kind counters_kind(const struct device_changes *grown)
{
    for (size_t i = 0; i < sizeof counter_kinds / sizeof counter_kinds[0]; i++)
        for (int d = 0; d < grown->count; d++)
            if (counts(&grown->devices[d].counters, counter_kinds[i].part))
                return counter_kinds[i].kind;
    return FOUND_NOTE;
}
