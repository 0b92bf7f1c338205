/*
 * driver.c - there is a driver: the runtime for tests says by itself when there is none.
 */
#include "dataplane/memory/cuda/internal.h"

#include <stdlib.h>

#include "standin.h"

const char *cuda_driver_missing(void)
{
    return NULL;
}

/* The same as the runtime will show, which has not begun. */
int cuda_driver_devices(void)
{
    struct standin_config config;
    struct standin_card cards[STANDIN_DEVICES];
    standin_parse(&config, getenv("CUDA_STANDIN"));
    standin_cards_see(&config, cards, getenv("CUDA_VISIBLE_DEVICES"));
    return (int)config.devices;
}
