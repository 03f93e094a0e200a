/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model.h"

#include "base/alloc.h"
#include "written_pieces.h"

void model_init(struct model *m)
{
	*m = (struct model){
		.contexts = xcalloc_aligned(HUGE_PAGE, MODEL_CONTEXTS, sizeof *m->contexts),
		.ahead = xcalloc(MODEL_CONTEXTS, sizeof *m->ahead),
		.memory = xcalloc(MODEL_MEMORY, sizeof *m->memory),
		.shifts = xcalloc(MODEL_SHIFTS, sizeof *m->shifts),
		.targets = xcalloc(MODEL_TARGETS, sizeof *m->targets),
		.phrases = phrases_new(),
		.written = xcalloc(1, sizeof *m->written),
	};
}

void model_deinit(struct model *m)
{
	free(m->contexts);
	free(m->ahead);
	free(m->memory);
	free(m->shifts);
	free(m->targets);
	phrases_free(m->phrases);
	free(m->written);
}

#define clear(table)                                                               \
	clear_written(m->table, MODEL_PIECE * sizeof *m->table, m->written->table, \
		      sizeof m->written->table / sizeof(bool))

void model_reset(struct model *m, uint64_t insns, uint64_t ns, uint64_t space)
{
	struct model fresh = {
		.insns = insns, .ns = ns, .space = space >> 12,
		.contexts = m->contexts, .ahead = m->ahead, .memory = m->memory, .shifts = m->shifts,
		.targets = m->targets,
		.phrases = m->phrases, .written = m->written,
	};

	clear(contexts);
	clear(memory);
	clear(shifts);
	clear(targets);
	phrases_reset(m->phrases);
	*m = fresh;
}
