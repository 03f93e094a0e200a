// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts words, and more slowly than it need: the README and make demo show why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct word {
	char text[32];
	int count;
} *list;
static int n;

static unsigned hash(const char *text)
{
	unsigned h = 5381;

	while (*text)
		h = h * 33 + (unsigned char)*text++;
	return h;
}

static struct word *find(const char *text)
{
	for (int i = 0; i < n; i++)
		if (hash(list[i].text) == hash(text) && !strcmp(list[i].text, text))
			return &list[i];
	return NULL;
}

static void add(const char *text)
{
	struct word *w = find(text);

	if (!w) {
		list = realloc(list, (n + 1) * sizeof *list);
		w = &list[n++];
		snprintf(w->text, sizeof w->text, "%s", text);
		w->count = 0;
	}
	w->count++;
}

static void read_words(FILE *f)
{
	char text[32];

	while (fscanf(f, "%31s", text) == 1)
		add(text);
}

static int by_count(const void *a, const void *b)
{
	return ((const struct word *)b)->count - ((const struct word *)a)->count;
}

static void report(void)
{
	qsort(list, n, sizeof *list, by_count);
	for (int i = 0; i < n && i < 3; i++)
		printf("%d %s\n", list[i].count, list[i].text);
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;

	if (!f)
		return perror(argv[1]), 1;
	read_words(f);
	report();
	return 0;
}
