/*
 * bind.h - a core for each rank.
 */
#ifndef CCTEST_BIND_H
#define CCTEST_BIND_H

/* Binds the calling thread to one of the cores that it may use: the `index`th, counted in the
 * topology's order and from the first again when there are no more. Returns how many there are; 0,
 * where binding is not possible: then nothing has changed. */
int bind_to_core(int index);

#endif
