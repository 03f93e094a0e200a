/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile of pprof's (profile.proto), packed by gzip as pprof writes it: a sample for each path of calls, with how
 * often it was called, and the instructions and guest time at its end. Told apart, samples have labels.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/gzip.h"
#include "protobuf.h"
#include "sums_tree.h"

/* Fields of Profile, and of the messages in it. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	DURATION_NS = 10,
	COMMENT = 13,
	DEFAULT_TYPE = 14,
};
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };

struct pprof {
	const struct sums_tree *tree;
	const struct sink *sink;
	struct buf out, name;
	bool *named; /* by function */
	uint64_t n_strings;
	struct map whose; /* node → its name's string */
};

static uint64_t put_string(struct pprof *p, const char *text)
{
	proto_text(&p->out, STRING, text);
	return p->n_strings++;
}

static void put_type(struct pprof *p, const char *type, const char *unit)
{
	uint64_t type_string = put_string(p, type), unit_string = put_string(p, unit);
	size_t at = proto_begin(&p->out, SAMPLE_TYPE);

	proto_number(&p->out, 1, type_string);
	proto_number(&p->out, 2, unit_string);
	proto_end(&p->out, at);
}

/* A function is its own location. */
static void put_function(struct pprof *p, uint32_t function)
{
	const struct names *names = p->tree->session->names;
	uint64_t name, file;
	size_t at, line;

	if (p->named[function])
		return;
	p->named[function] = true;
	name = put_string(p, names_function(names, function));
	file = put_string(p, names_object(names, function));
	at = proto_begin(&p->out, FUNCTION);
	proto_number(&p->out, 1, function + UINT64_C(1));
	proto_number(&p->out, 2, name);
	proto_number(&p->out, 3, name);
	proto_number(&p->out, 4, file);
	proto_end(&p->out, at);
	at = proto_begin(&p->out, LOCATION);
	proto_number(&p->out, 1, function + UINT64_C(1));
	line = proto_begin(&p->out, 4);
	proto_number(&p->out, 1, function + UINT64_C(1));
	proto_end(&p->out, line);
	proto_end(&p->out, at);
}

/* The string with whose it is, once for each. */
static uint64_t whose(struct pprof *p, uint32_t node)
{
	uint64_t *string = map_put(&p->whose, node, 0);

	if (!*string) {
		p->name.len = 0;
		sums_tree_name(p->tree, node, &p->name);
		buf_put_u8(&p->name, 0);
		*string = put_string(p, (char *)p->name.data);
	}
	return *string;
}

static void put_sample(struct pprof *p, uint32_t n, uint64_t key)
{
	const struct call_node *nodes = p->tree->tree.nodes;
	uint64_t label = 0;
	size_t at, inner;

	for (uint32_t i = n; i; i = nodes[i].parent) {
		if (sums_tree_is_whose(p->tree, i))
			label = whose(p, i);
		else
			put_function(p, nodes[i].function);
	}
	at = proto_begin(&p->out, SAMPLE);
	inner = proto_begin(&p->out, SAMPLE_LOCATIONS);
	for (uint32_t i = n; i && !sums_tree_is_whose(p->tree, i); i = nodes[i].parent)
		buf_put_varint(&p->out, nodes[i].function + UINT64_C(1));
	proto_end(&p->out, inner);
	inner = proto_begin(&p->out, SAMPLE_VALUES);
	buf_put_varint(&p->out, nodes[n].calls);
	buf_put_varint(&p->out, nodes[n].self_insns);
	buf_put_varint(&p->out, nodes[n].self_ns);
	proto_end(&p->out, inner);
	if (label) {
		inner = proto_begin(&p->out, SAMPLE_LABEL);
		proto_number(&p->out, 1, key);
		proto_number(&p->out, 2, label);
		proto_end(&p->out, inner);
	}
	proto_end(&p->out, at);
}

static int put_all(struct pprof *p, const struct export_options *options, struct error *err)
{
	const struct call_node *nodes = p->tree->tree.nodes;
	uint64_t key, title;
	int r = 0;

	put_string(p, ""); /* number 0 is empty */
	put_type(p, "calls", "count");
	put_type(p, "instructions", "count");
	put_type(p, "time", "nanoseconds");
	key = put_string(p, options->split == SPLIT_THREAD ? "thread" : "process");
	title = put_string(p, options->title);
	proto_number(&p->out, COMMENT, title);
	proto_number(&p->out, DURATION_NS, nodes[0].total_ns);
	/* string 3 is "instructions", 5 is "time" */
	proto_number(&p->out, DEFAULT_TYPE, p->tree->by_ns ? 5 : 3);
	for (uint32_t i = 0; r == 0 && i < p->tree->tree.count; i++) {
		if (nodes[i].calls || nodes[i].self_insns || nodes[i].self_ns)
			put_sample(p, i, key);
		if (r == 0)
			r = sink_pass(p->sink, &p->out, err);
	}
	return sink_end(p->sink, &p->out, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct sums_tree tree;
	struct gzip gzip;
	struct pprof p = {
		.tree = &tree,
		.sink = &gzip.sink,
		.named = xcalloc(names_count(session->names), sizeof *p.named),
	};
	int r = sums_tree_make(session, options, &tree, err);

	if (r == 0 && (r = gzip_init(&gzip, sink, err)) == 0)
		r = gzip_end(&gzip, put_all(&p, options, err), err);
	sums_tree_deinit(&tree);
	map_free(&p.whose);
	buf_free(&p.name);
	free(p.named);
	return r;
}

const struct exporter export_pprof = {
	.name = "pprof",
	.help = "a profile for pprof and whatever reads its files",
	.kind = EXPORTS_SUMS,
	.split = true,
	.put = put,
};
