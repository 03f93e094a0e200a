/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NOTES_MAX = 128 << 20 }; /* bytes, of all parts together */

/* A moment that waits for its turn, with as much of its stack as handlers ask for; frames: where these begin. */
struct note {
	struct moment now;
	struct stack stack;
	size_t frames;
};

struct script_team {
	struct script_runner *lead; /* whose machine it is: whose turn it is changes it … */
	struct script_runner model; /* … and what each part begins as */
	bool keeps_frames;
	bool over;            /* the program has said exit() */
	size_t turn;          /* number of the part that fires at once */
	pthread_mutex_t lock; /* for what follows, and to let the turn go on: */
	pthread_cond_t turned;
	struct script_part *ended[PARTS_MAX]; /* by number; NULL: it has not */
};

struct script_part {
	struct script_runner own; /* what the visitor's state is, and the first member, by which one is found */
	struct script_team *team;
	size_t number;
	struct note *notes;
	size_t count, cap;
	struct frame *frames;
	size_t n_frames, frames_cap;
};

/* Of most functions there are so many moments that nothing but noting them would be done at the same time. */
static bool is_dense(const struct script_runner *r)
{
	enum { MOST = 256 };
	const struct script_index *x[] = { &r->places.entries, &r->places.returns };
	size_t asked = 0;

	for (int i = 0; i < 2; i++)
		asked += x[i]->count ? x[i]->first[x[i]->count] : 0;
	return asked > MOST;
}

bool script_parts_may(struct script_runner *r)
{
	const struct script_run_options *o = r->o;
	bool is_timer;

	return (o->session->index || o->make_index) && !o->grows && !r->state.there && !o->from_ns &&
	       o->to_ns == UINT64_MAX && !r->spending && !is_dense(r) && script_next_beside(r, &is_timer) == UINT64_MAX;
}

static bool is_over(const struct script_team *team)
{
	return __atomic_load_n(&team->over, __ATOMIC_RELAXED);
}

static bool fire_now(struct script_team *team, const struct moment *now)
{
	if (is_over(team))
		return false;
	team->lead->now = *now;
	if (machine_fire(team->lead->machine, now->at.handler))
		return true;
	__atomic_store_n(&team->over, true, __ATOMIC_RELAXED);
	return false;
}

/* What the part noted fires: it is its turn. */
static void fire_notes(struct script_part *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct note *n = &p->notes[i];

		n->stack.frames = p->frames + n->frames;
		n->now.stack = &n->stack;
		if (!fire_now(p->team, &n->now))
			break;
	}
	p->count = p->n_frames = 0;
}

static bool is_turn(const struct script_part *p)
{
	return __atomic_load_n(&p->team->turn, __ATOMIC_ACQUIRE) == p->number;
}

static size_t bytes_of(const struct script_part *p)
{
	return p->count * sizeof *p->notes + p->n_frames * sizeof *p->frames;
}

static void note(struct script_part *p, const struct moment *now)
{
	const struct stack *stack = now->stack;
	size_t depth = p->team->keeps_frames ? stack->depth : 0;

	p->notes = array_grow(p->notes, p->count, &p->cap, sizeof *p->notes);
	p->notes[p->count++] = (struct note){ .now = *now, .stack = *stack, .frames = p->n_frames };
	for (size_t i = 0; i < depth; i++) {
		p->frames = array_grow(p->frames, p->n_frames, &p->frames_cap, sizeof *p->frames);
		p->frames[p->n_frames++] = stack->frames[i];
	}
}

/* The part whose turn it is waits for nobody. */
static void await_turn(struct script_part *p)
{
	if (is_turn(p))
		return;
	pthread_mutex_lock(&p->team->lock);
	while (!is_turn(p))
		pthread_cond_wait(&p->team->turned, &p->team->lock);
	pthread_mutex_unlock(&p->team->lock);
}

/* r->now fires its handler r->now.at, or is noted. False: the program is over. */
static bool fire(struct script_runner *r)
{
	struct script_part *p = (struct script_part *)r;

	if (is_over(p->team))
		return false;
	if (!is_turn(p) && bytes_of(p) < NOTES_MAX / PARTS_MAX) {
		note(p, &r->now);
		return true;
	}
	await_turn(p);
	fire_notes(p);
	return fire_now(p->team, &r->now);
}

static void *begin(void *context, void *before, size_t number)
{
	struct script_team *team = context;
	struct script_part *p = xcalloc(1, sizeof *p);

	(void)before;
	p->own = team->model;
	p->team = team;
	p->number = number;
	return p;
}

static bool is_given_up(const struct script_team *team)
{
	const struct script_run_options *o = team->lead->o;

	return o->is_enough && o->is_enough(o->enough_context);
}

/* Its turn goes on to the first part that is under way, past those that have ended and waited for it. */
static void end(void *state, struct stacks *s)
{
	struct script_part *p = state;
	struct script_team *team = p->team;

	(void)s;
	pthread_mutex_lock(&team->lock);
	team->ended[p->number] = p;
	if (is_given_up(team)) /* it was not replayed to its end: what comes later would not follow it */
		__atomic_store_n(&team->over, true, __ATOMIC_RELAXED);
	while (team->turn < PARTS_MAX && team->ended[team->turn]) {
		fire_notes(team->ended[team->turn]);
		__atomic_store_n(&team->turn, team->turn + 1, __ATOMIC_RELEASE);
	}
	pthread_cond_broadcast(&team->turned);
	pthread_mutex_unlock(&team->lock);
}

/* Does it ask for more of a stack than how deep it is? */
static bool asks_stacks(const struct script_code *code)
{
	for (size_t i = 0; i < code->n_steps; i++) {
		const struct step *s = &code->steps[i];

		if (s->op == STEP_STACK || (s->op == STEP_BUILTIN && s->a == BUILTIN_USER_MODE))
			return true;
	}
	return false;
}

int script_parts_replay(struct script_runner *r, struct error *err)
{
	struct script_team team = {
		.lead = r,
		.model = *r,
		.keeps_frames = asks_stacks(r->o->code),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER,
	};
	struct parts_member member = {
		.analysis = { .visitor = script_visitor(), .begin = begin, .end = end },
		.context = &team,
	};
	struct session session = *r->o->session;
	int result;

	team.model.fire = fire;
	team.model.running = NULL;
	session.is_given_up = r->o->is_enough;
	session.given_up_context = r->o->enough_context;
	result = parts_replay(&session, r->o->make_index, NULL, &member, 1, err);
	if (result < 0 && is_given_up(&team))
		result = 0;
	r->over = team.over;
	for (size_t i = 0; i < PARTS_MAX && member.states[i]; i++) {
		struct script_part *p = member.states[i];

		free(p->notes);
		free(p->frames);
		free(p);
	}
	return result;
}
