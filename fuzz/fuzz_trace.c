/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace, and all that upto computes from one. The first byte says what the rest is:
 *   odd          the unpacked payload of an EVENTS chunk, for a fixed site table
 *   2, 6, 10, …  chunks as chunk_header + unpacked payload; compressed, numbered and
 *                checksummed here, so that damage gets past the checksums
 *   0, 4, 8, …   a whole file
 */
#include "fuzz.h"

#include <unistd.h>

#include "analysis/calls/calltree.h"
#include "analysis/check/check.h"
#include "analysis/check/digest.h"
#include "analysis/check/summary.h"
#include "analysis/ending/ending.h"
#include "analysis/ending/kernel_log.h"
#include "analysis/history/why.h"
#include "analysis/kd/kd_recorded.h"
#include "analysis/processes/processes.h"
#include "analysis/processes/syscall_list.h"
#include "analysis/sums/function_analysis.h"
#include "analysis/sums/left_functions.h"
#include "analysis/sums/totals.h"
#include "analysis/thin/thin.h"
#include "arch/syscall_args.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"
#include "replay/fold.h"
#include "trace/content.h"
#include "trace/damage.h"
#include "trace/mapped_contents.h"
#include "trace/texts.h"
#include "trace/writer.h"

#define KERNEL 0xffffffff81000000u

static void add_sites(struct sites *sites)
{
	static const struct site table[] = {
		{ EVENT_CALL, 5, KERNEL + 0x100, KERNEL + 0x200 },
		{ EVENT_RETURN, 1, KERNEL + 0x210, 0 },
		{ EVENT_CALL_INDIRECT, 2, KERNEL + 0x220, 0 },
		{ EVENT_JUMP, 5, KERNEL + 0x230, KERNEL + 0x300 },
		{ EVENT_JUMP_INDIRECT, 2, KERNEL + 0x310, 0 },
		{ EVENT_ARRIVE, 4, KERNEL + 0x400, 0 },
		{ EVENT_INTERRUPT_RETURN, 2, KERNEL + 0x500, 0 },
		{ EVENT_CALL, 5, 0x401000, 0x402000 },
		{ EVENT_JUMP_INDIRECT, 6, 0x7f0000001000, 0 },
		{ EVENT_RETURN, 255, UINT64_MAX, 0 },
	};

	sites_init(sites);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		sites_add(sites, &table[i]);
}

/* The events of one payload, one after the other, with their arguments. */
struct decoded {
	struct event *events;
	size_t count, cap;
};

static void keep(struct decoded *d, const struct event *e)
{
	unsigned n = event_n_args(e->kind);
	uint64_t *args = n ? memcpy(xcalloc(n, sizeof *args), e->args, n * sizeof *args) : NULL;

	d->events = array_grow(d->events, d->count, &d->cap, sizeof *d->events);
	d->events[d->count] = *e;
	d->events[d->count++].args = args;
}

static void must_be_same(const struct event *a, const struct event *b)
{
	must(a->kind == b->kind && a->site == b->site && a->insns == b->insns && a->slot == b->slot &&
	     a->from == b->from && a->target == b->target);
	must(!event_has_clock(a->kind) || a->ns == b->ns);
	for (unsigned i = 0; i < event_n_args(a->kind); i++)
		must(a->args[i] == b->args[i]);
}

/* Whatever events these are: what the encoder makes of them, the decoder makes them of. */
static void encode_again(const struct decoded *d, const struct sites *sites, const struct cpu_state *state)
{
	struct encoder *enc = xcalloc(1, sizeof *enc);
	struct batch *batch = xcalloc(1, sizeof *batch);
	struct buf payload = { 0 };
	struct decoder dec;
	struct error err;
	size_t n = 0;

	encoder_init(enc, sites);
	encoder_begin(enc, state);
	for (size_t i = 0; i < d->count; i++) {
		*encoder_next(enc) = d->events[i];
		encoder_added(enc);
		/* the recorder's ring is empty now and then */
		if (i % 77 == 76)
			encoder_flush(enc);
	}
	encoder_flush(enc);
	must(enc->events == d->count);
	encoder_end(enc, &payload);
	decoder_init(&dec, sites);
	must(decoder_begin(&dec, payload.data, payload.len, state, false, &err) == 0);
	do {
		must(decoder_next(&dec, batch, &err) == 0 && n + batch->count <= d->count);
		batch_write_phrases(batch);
		for (size_t i = 0; i < batch->count; i++)
			must_be_same(&batch->events[i], &d->events[n++]);
	} while (batch->count);
	must(n == d->count);
	decoder_deinit(&dec);
	encoder_deinit(enc);
	buf_free(&payload);
	free(batch);
	free(enc);
}

/* What lies between two clocks has a time between theirs. */
static void must_be_between(const struct timebase *t, const struct event *e)
{
	if (t->end_insns != UINT64_MAX && e->insns >= t->insns && e->insns <= t->end_insns)
		must(e->ns - t->ns <= t->end_ns - t->ns);
}

static void decode_events(const uint8_t *data, size_t size)
{
	const struct cpu_state begin = { .insns = 1000, .ns = 50000, .place = KERNEL, .space = 0x1000 };
	struct cpu_state state = begin;
	struct decoded decoded = { 0 };
	struct guarded g = guarded_copy(data, size, 1);
	struct batch *batch = xcalloc(1, sizeof *batch);
	struct decoder dec;
	struct sites sites;
	struct error err;

	add_sites(&sites);
	decoder_init(&dec, &sites);
	if (decoder_begin(&dec, g.data, size, &state, false, &err) == 0) {
		while (decoder_next(&dec, batch, &err) == 0 && batch->count) {
			must(batch->count <= BATCH_EVENTS && batch->n_args <= BATCH_ARGS);
			batch_complete(batch);
			for (size_t i = 0; i < batch->count; i++) {
				must(batch->events[i].kind > EVENT_NONE && batch->events[i].kind < EVENT_KINDS);
				if (i < batch->count - batch->clocked)
					must_be_between(&batch->timebase, &batch->events[i]);
				keep(&decoded, &batch->events[i]);
				cpu_state_advance(&state, &batch->events[i]);
			}
		}
	}
	encode_again(&decoded, &sites, &begin);
	for (size_t i = 0; i < decoded.count; i++)
		free((void *)decoded.events[i].args);
	free(decoded.events);
	decoder_deinit(&dec);
	sites_deinit(&sites);
	free(batch);
	guarded_free(&g);
}

static void write_chunks(int fd, const uint8_t *data, size_t size)
{
	struct cursor in = cursor_over(data, size);
	struct chunk_header h;
	struct writer w;

	must(writer_init(&w, fd) == 0);
	while (cursor_left(&in) >= sizeof h) {
		struct buf payload = { 0 };
		size_t n;

		memcpy(&h, cursor_take(&in, sizeof h), sizeof h);
		n = h.unpacked < cursor_left(&in) ? h.unpacked : cursor_left(&in);
		buf_put(&payload, cursor_take(&in, n), n);
		must(writer_put(&w, &h, &payload, 1) == 0);
		buf_free(&payload);
	}
	writer_deinit(&w);
}

static void analyse_functions(const struct reader *r, const struct names *names, const struct span *span)
{
	const struct session session = { .reader = r, .names = names };
	struct buf text = { 0 };
	struct functions f;
	struct error err;

	if (functions_analyse(&session, span, &f, &err) < 0)
		return;
	for (size_t i = 0; i < f.count; i++)
		buf_printf(&text, "%s%s%s", names_function(names, (uint32_t)i), names_section(names, (uint32_t)i),
			   names_object(names, (uint32_t)i));
	buf_free(&text);
	functions_deinit(&f);
}

/* Time is conserved: what the threads spent is what there was. */
static void analyse_processes(const struct reader *r, const struct span *span)
{
	struct spent sum = { 0 };
	struct threads threads;
	struct processes p;
	struct error err;

	threads_init(&threads, r);
	for (size_t i = 0; i < threads.count; i++)
		must(threads_find(&threads, threads.list[i].task, threads.list[i].start_ns) != THREAD_NONE);
	if (processes_analyse(r, &threads, span, &p, &err) == 0) {
		for (size_t i = 0; i < p.count; i++)
			sum.insns += p.spent[i].insns;
		must(sum.insns == p.sum.insns);
		processes_deinit(&p);
	}
	threads_deinit(&threads);
}

static uint64_t insns_of(const struct call_tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->count; i++)
		sum += tree->nodes[i].self_insns;
	return sum;
}

/* Whatever is folded, all that ran is somebody's. */
static void analyse_folded(const struct session *whole, uint64_t insns)
{
	size_t count = names_count(whole->names);
	uint8_t *marks = xcalloc(count, sizeof *marks);
	struct spent spent[FOLD_KINDS] = { 0 };
	struct fold fold = { .marks = marks, .spent = spent, .span = SPAN_ALL };
	struct session session = *whole;
	struct function_total *totals;
	struct functions sums;
	struct call_tree tree;
	struct error err;

	for (size_t i = 0; i < count; i++)
		marks[i] = (uint8_t)(i % 3 | (i % FOLD_KINDS) << FOLD_KIND);
	session.fold = &fold;
	if (totals_analyse(&session, false, &sums, &totals, &err) == 0) {
		must(sums.insns == insns && spent[0].insns == insns);
		functions_deinit(&sums);
		free(totals);
	}
	fold.depth = 2;
	if (call_tree_analyse(&session, &(struct call_tree_options){ 0 }, &tree, &err) == 0) {
		must(insns_of(&tree) == insns);
		call_tree_deinit(&tree);
	}
	free(marks);
}

static void analyse_tree(const struct reader *r, const struct names *names)
{
	struct function_total *totals;
	bool *functions = xcalloc(names_count(names), sizeof *functions);
	struct call_tree tree, of;
	struct functions sums;
	struct threads threads;
	const struct session session = { .reader = r, .names = names, .threads = &threads };
	struct error err;

	threads_init(&threads, r);
	functions[0] = true;
	if (call_tree_analyse(&session, &(struct call_tree_options){ 0 }, &tree, &err) == 0) {
		for (size_t i = 1; i < tree.count; i++)
			must(tree.nodes[i].parent < i && tree.nodes[i].function < names_count(names));
		for (int callers = 0; callers < 2; callers++) {
			call_tree_of(&tree, functions, callers, &of);
			call_tree_deinit(&of);
		}
		analyse_folded(&session, insns_of(&tree));
		call_tree_deinit(&tree);
	}
	if (totals_analyse(&session, false, &sums, &totals, &err) == 0) {
		functions_deinit(&sums);
		free(totals);
	}
	threads_deinit(&threads);
	free(functions);
}

/* The chain tiles the time that was asked for, and its causes add up to it. */
static void must_tile(const struct why *w)
{
	uint64_t at = w->from_ns, sum = 0;

	for (size_t i = 0; i < w->n_links; i++) {
		must(w->links[i].start_ns == at && w->links[i].end_ns > at && w->links[i].cause < w->n_causes);
		at = w->links[i].end_ns;
	}
	must(at == w->to_ns);
	for (size_t i = 0; i < w->n_causes; i++)
		sum += w->causes[i].ns;
	must(sum == w->to_ns - w->from_ns);
}

static void take_chunk(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	uint64_t *events = context;

	(void)payload, (void)level;
	*events += header->events;
}

/* Spans and calls are taken out, in each way that has code of its own. */
static void choose(const struct session *session)
{
	bool *some = xcalloc(names_count(session->names), sizeof *some);
	const struct thin_condition enters = { { .kind = CONDITION_ENTRY, .nth = 1 }, some },
				    leaves = { { .kind = CONDITION_EXIT, .nth = 1 }, some };
	const struct thin_filter long_ones = {
		.min_duration_ns = 50 }, few = { .functions = some, .depth = 1,
		.no_interrupts = true }, inner = { .below = some,
	};
	struct thin_options ways[] = {
		{ .what = "", .start = enters, .stop = leaves, .every = true, .before_ns = 20 },
		{ .what = "", .filter = long_ones },
		{ .what = "", .filter = few, .limit = 3, .keep_last = true },
		{ .what = "", .stop = leaves, .filter = inner, .limit = 2 },
	};

	some[0] = true;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct left_pairs pairs = { 0 };
		struct map held = { 0 };
		struct thin_counts counts;
		struct error err;
		uint64_t events = 0;

		ways[i].left_out = i % 2 ? &pairs : NULL;
		ways[i].held = &held;
		if (thin(session, &ways[i], &(struct builder_sink){ .put = take_chunk, .context = &events }, &counts,
			 &err) == 0)
			must(events == counts.events);
		free(pairs.list);
		map_free(&held);
	}
	free(some);
}

/* The calls as rows of a log, and their sums. */
static void list_calls(const struct session *session)
{
	struct kd_sums sums = { 0 };
	struct kfi_log log;
	struct error err;

	kd_recorded_calls(session, &log, &err);
	kfi_log_deinit(&log);
	kd_recorded_sums(session, true, &log, &sums, &err);
	kd_sums_deinit(&sums);
	kfi_log_deinit(&log);
}

static void analyse_choice(const struct reader *r, const struct names *names)
{
	struct threads threads;
	const struct session session = { .reader = r, .names = names, .threads = &threads };

	threads_init(&threads, r);
	choose(&session);
	list_calls(&session);
	threads_deinit(&threads);
}

static void analyse_history(const struct reader *r, const struct names *names)
{
	struct milestone m;
	struct threads threads;
	const struct session session = { .reader = r, .names = names, .threads = &threads };
	struct history h;
	struct error err;
	struct why why;

	threads_init(&threads, r);
	if (history_make(&session, &h, &err) == 0) {
		struct kernel_log log;
		struct ending ending;
		struct buf text = { 0 };

		for (size_t i = 0; i < h.n_spans; i++)
			must(h.spans[i].start_ns <= h.spans[i].end_ns &&
			     (h.spans[i].parent == HISTORY_NONE || h.spans[i].parent < i));
		for (uint32_t t = 0; t < h.n_threads && t < 8; t++) {
			m = (struct milestone){ .thread = t, .ns = h.end_ns };
			why_make(&h, names, &threads, 0, &m, &why);
			must_tile(&why);
			why_deinit(&why);
		}
		milestone_default(&h, names, &threads, &r->meta, &SPAN_ALL, &m);
		milestone_find(&h, names, &threads, "log:e", &SPAN_ALL, &m);
		milestone_find(&h, names, &threads, "sh", &SPAN_ALL, &m);
		kernel_log_init(&log, &h.facts, names->boots);
		ending_find(r, &log, &ending);
		ending_find_hang(&session, &ending, &err);
		ending_put(&ending, &session, &text);
		ending_put_troubles(&ending, &text);
		ending_deinit(&ending);
		buf_free(&text);
		kernel_log_deinit(&log);
	}
	history_deinit(&h);
	threads_deinit(&threads);
}

/* What is known of files' contents. */
static void ask_contents(const struct reader *r)
{
	struct content c = { 0 };
	uint64_t *numbers = mapped_contents(&r->code, &r->boots);

	for (size_t i = 0; i < r->code.count; i++) {
		const struct code_record *record = &r->code.records[i];
		struct cursor in = cursor_over(record->symbols, record->symbols_len);

		must(!numbers[i] || record->change == CODE_MAPPED);
		if (record->change == CODE_CONTENT)
			content_add(&c, &in);
	}
	must(c.id_len <= CONTENT_ID_MAX && c.count <= CONTENT_PIECES);
	content_deinit(&c);
	free(numbers);
}

/* Code that came and went, where it was and at its edges, whenever and for whom. */
static void ask_addresses(const struct reader *r, const struct names *names)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < r->code.count; i++) {
		const struct code_record *c = &r->code.records[i];
		uint64_t addrs[] = { c->start - 1, c->start, c->start + c->size - 1, c->start + c->size,
				     c->start + 0x1100 };

		for (size_t k = 0; k < 5 * r->tasks.count && k < 100; k++) {
			struct space_view view = { 0 };
			uint64_t ns = k % 2 ? c->ns : c->ns - 1;
			uint32_t version = spaces_at(&names->spaces, &view, r->tasks.records[k / 5].task, ns);

			must(ns >= view.from_ns && (ns < view.to_ns || view.to_ns == UINT64_MAX));
			must(names_place(names, addrs[k % 5], ns, version).function < names_count(names));
			names_address(names, addrs[k % 5], ns, version, &text);
			must(!text.len || !memchr(text.data, 0x1b, text.len));
		}
	}
	buf_free(&text);
}

static void ask_argument(const struct texts *texts, const struct syscall_record *c, unsigned arg)
{
	const char *kinds = c->abi->call_args(c->nr);
	struct buf out = { 0 };

	texts_find(texts, c->cpu, c->insns, arg);
	if (kinds && arg < strlen(kinds))
		syscall_arg(c->abi, kinds[arg], c->args[arg], &out);
	buf_free(&out);
}

static void list_syscalls(const struct reader *r)
{
	struct syscalls calls;
	struct threads threads;
	struct texts texts;
	struct error err;

	threads_init(&threads, r);
	if (syscalls_analyse(r, &threads, &SPAN_ALL, &calls, &err) == 0) {
		struct syscall_sum *sums;

		if (texts_read(r, &texts, &err) == 0)
			for (size_t i = 0; i < calls.count; i++)
				for (unsigned k = 0; k < 6; k++)
					ask_argument(&texts, &calls.calls[i], k);
		texts_deinit(&texts);
		syscalls_sum(&calls, &sums);
		free(sums);
		syscalls_deinit(&calls);
	}
	threads_deinit(&threads);
}

static void summarize(const struct reader *r, const struct names *names)
{
	struct summary summary;
	struct error err;
	uint64_t digest;

	(void)names;
	summary_analyse(r, &summary, &err);
	list_syscalls(r);
	if (reader_vcpus(r) < 8)
		digest_analyse(r, &digest, &err);
}

static void ask_names(const struct reader *r, const struct names *names)
{
	ask_contents(r);
	ask_addresses(r, names);
}

static const struct span part = { .from_ns = 10, .to_ns = 1000, .cpu = 0 };

static void sum_functions(const struct reader *r, const struct names *names)
{
	analyse_functions(r, names, &SPAN_ALL);
	analyse_functions(r, names, &part);
}

static void sum_processes(const struct reader *r, const struct names *names)
{
	(void)names;
	analyse_processes(r, &SPAN_ALL);
	analyse_processes(r, &part);
}

static void check_all(const struct reader *r, const struct names *names)
{
	struct check check;
	struct error err;

	check_analyse(r, names, true, &check, &err);
	check_deinit(&check);
}

/* libFuzzer has each input analysed in one way, which its bytes tell. */
static void analyse(const struct reader *r, unsigned chosen)
{
	static void (*const ways[])(const struct reader *r, const struct names *names) = {
		summarize, ask_names, sum_functions, sum_processes,
		analyse_tree, analyse_history, analyse_choice, check_all,
	};
	enum { WAYS = sizeof ways / sizeof *ways };
	struct names names;
	struct error err;

	if (names_init(&names, r, &err) < 0)
		return;
	for (unsigned i = 0; i < WAYS; i++)
		if (&fuzz_replays || i == chosen % WAYS)
			ways[i](r, &names);
	names_deinit(&names);
}

static unsigned sum_of(const uint8_t *data, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += data[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader *r;
	struct error err;
	char path[64];
	int fd;

	if (!size)
		return 0;
	if (data[0] & 1) {
		decode_events(data + 1, size - 1);
		return 0;
	}
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0);
	if (data[0] & 2)
		write_chunks(fd, data + 1, size - 1);
	else
		must(write_all(fd, data + 1, size - 1) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (reader_open(path, &r, &err) == 0) {
		if (r->n_damages)
			damage_take_out(r);
		analyse(r, sum_of(data, size));
		reader_free(r);
	}
	close(fd);
	return 0;
}
