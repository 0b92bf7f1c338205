/*
 * nic_choice.c - which NIC ports a transport may use.
 */
#include "dataplane/transport/transport.h"

#include <string.h>

/* "mlx5_0+mlx5_1:2", as the user gave it; NULL: nothing. */
static const char *nics_given(const struct transport_choice *choice)
{
    const struct transport_option *options = choice->transport->options;
    for (int i = 0; options && i < TRANSPORT_OPTIONS_MOST && options[i].name; i++)
        if (strcmp(options[i].name, "nic") == 0 && choice->settings[i].given)
            return choice->settings[i].text;
    return NULL;
}

/* Does an entry of nic= name this port? "mlx5_0" names all ports of the NIC, and an inventory calls
 * port 1 so. */
static bool entry_names(const char *entry, size_t length, const char *nic)
{
    size_t name = strcspn(nic, ":");
    if (length < name || strncmp(entry, nic, name) != 0)
        return false;
    const char *port = nic[name] ? nic + name : ":1";
    return length == name ||
           (length == name + strlen(port) && strncmp(entry + name, port, strlen(port)) == 0);
}

bool choice_allows_nic(const struct transport_choice *choice, const char *nic)
{
    const char *list = nics_given(choice);
    for (const char *entry = list; entry && *entry; entry += *entry == '+') {
        size_t length = strcspn(entry, "+");
        if (entry_names(entry, length, nic))
            return true;
        entry += length;
    }
    return !list;
}
