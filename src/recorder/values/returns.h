/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where chosen functions return (arguments.h, probes.h): at their own return, or, if they went on by a jump to another
 * function, at that one's, which then returns for both. What has been left so is kept until the return comes.
 */
#ifndef UPTO_RECORDER_RETURNS_H
#define UPTO_RECORDER_RETURNS_H

#include "recorder/recorder.h"

/* Choose a function by its begin, or no longer (0): its number in arguments.h, that of its first probe, each + 1. */
void returns_choose_args(uint64_t function, uint32_t args);
void returns_choose_probe(uint64_t function, uint32_t probe);

/* Under `lock`: */
/* Is some function chosen, so that all returns are watched for what was left? */
bool returns_are_watched(void);
/* The number of that function here, by its begin, + 1; 0: it is not chosen. */
uint32_t returns_at(uint64_t function);
/* Likewise by its number (kernel.h). What seldom runs of it, NAME.cold, counts as the function itself. */
uint32_t returns_of(long function);
uint32_t returns_probe(uint64_t function);

/*
 * A chosen function is entered, at that address, in code whose functions are not known: its return is seen where any
 * return is. In a vCPU's thread.
 */
void returns_await(struct vcpu *v, uint64_t function, uint64_t entry);

/* The task ends: its calls return no more. In a vCPU's thread. */
void returns_gone(uint64_t task);

/* The guest has ended: say what could not be seen. */
void returns_finish(void);

#endif
