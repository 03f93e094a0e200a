/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of probes: what they mean, and what their code does with a guest whose memory and registers are the
 * input. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "probes/probe_compile.h"
#include "probes/probe_record.h"

static const char *input;
static size_t input_size;

static uint64_t reg(void *context, unsigned number)
{
	(void)context;
	must(number <= PROBE_RIP);
	return number % 2 ? number : (uint64_t)(input_size / (number + 1));
}

static bool entry(void *context, uint64_t slot, unsigned number, uint64_t *ret)
{
	*ret = reg(context, number) + slot;
	return slot % 2;
}

static bool read_memory(void *context, uint64_t addr, void *data, size_t n)
{
	(void)context;
	if (addr > input_size || n > input_size - addr)
		return false;
	memcpy(data, input + addr, n);
	return true;
}

/* Code as text is the same code. */
static void again(const struct probe_code *c)
{
	struct buf text = { 0 }, other = { 0 };
	struct probe_code read;
	struct error err;

	if (!c->count)
		return;
	probe_code_put(c, &text);
	must(probe_code_parse((char *)text.data + 1, text.len - 2, &read, &err) == 0);
	probe_code_put(&read, &other);
	must(text.len == other.len && !memcmp(text.data, other.data, text.len));
	probe_code_deinit(&read);
	buf_free(&text);
	buf_free(&other);
}

static void make_record(const struct probe_definition *d)
{
	const struct probe_guest guest = { .reg = reg, .entry = entry, .read = read_memory, .current = 1 };
	const struct probe_hit hit = { .pid = 1, .address = 2, .returns = d->returns, .comm = "task" };
	struct probe_values values;
	struct buf out = { 0 };
	struct error err;

	if (probe_compile(&values, d, "f", NULL, &err) == 0) {
		for (size_t i = 0; i < values.count; i++)
			again(&values.list[i].code);
		probe_format_put(&values, probe_group_name(d), "e", d->returns, &out);
		probe_record_put(&values, &hit, &guest, &out);
	}
	probe_values_deinit(&values);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	struct probe_definition d;
	struct error err;

	input = text;
	input_size = strlen(text);
	if (probe_definition_parse(text, &d, &err) == 0) {
		cleanup_free char *name = probe_event_name(&d, "f");

		must(*name && *probe_group_name(&d));
		make_record(&d);
	}
	probe_definition_deinit(&d);
	return 0;
}
