/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a compiled program: a handler at a time, wherever whoever has the events says that its probe fires. */
#ifndef UPTO_HANDLERS_MACHINE_H
#define UPTO_HANDLERS_MACHINE_H

#include "base/sink.h"
#include "script_code.h"
#include "script_map.h"

/* What is known where a probe fires, and what values are called. */
struct machine_host {
	/* A builtin, or 0 where it is not known. COMM and other texts have bytes, valid until the handler ends. */
	struct value (*builtin)(void *context, enum builtin b);
	/* What the probe has read: field of struct types. */
	struct value (*field)(void *context, size_t field);
	/* Number of the stack there, up to so many frames, innermost first; `user`: of the program's code. */
	uint64_t (*stack)(void *context, bool user, uint64_t frames);
	/* Append what a NAME, a stack, an address is called. */
	void (*put_name)(void *context, uint64_t number, struct buf *out);
	void (*put_stack)(void *context, uint64_t number, unsigned indent, struct buf *out);
	void (*put_symbol)(void *context, uint64_t address, bool user, struct buf *out);
	/* 0: there is no such function. */
	uint64_t (*address)(void *context, const char *function);
	/* Does the user want no more of it? NULL: nobody says so. */
	bool (*is_enough)(void *context);
	/* The wall clock's ns where the guest began; times are printed as it goes on from there. */
	uint64_t began_ns;
	void *context;
};

struct machine_options {
	struct machine_host host;
	struct sink out;
	bool json;
};

struct machine;

/* The code must live as long. */
struct machine *machine_new(const struct script_code *code, const struct machine_options *options);
void machine_free(struct machine *m);

/* Print how many probes there are, as bpftrace does before anything else. */
void machine_say_attached(struct machine *m, size_t probes);

/* Run a handler. False: the program has said exit(), or its output cannot be written. */
bool machine_fire(struct machine *m, size_t handler);
/* The same, for so many hits at once: each count() counts them all. What else it does is done once. */
void machine_fire_times(struct machine *m, size_t handler, uint64_t times);

/* The handlers that fire from now on are END's: they run whole, whether the program has said exit() or the user has. */
void machine_begin_end(struct machine *m);

/* Pass on what was printed so far. */
int machine_pass_on(struct machine *m, struct error *err);

/* Print all maps that are not empty, as at the end of the program, and pass on what was printed. */
int machine_end(struct machine *m, struct error *err);

/* What was left out, for a message. */
struct machine_losses {
	uint64_t keys;  /* so often a map had no room */
	uint64_t cut;   /* texts that were longer than there is room for */
	uint64_t led;   /* values that were read by another address than the program had */
	uint64_t loops; /* handlers that were ended since they went round too often */
};

struct machine_losses machine_losses(const struct machine *m);

/* What exit() was given, for the exit status; 0: nothing, or it was not said. */
int machine_exit_code(const struct machine *m);

#endif
