/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as one SVG file: the wider a box, the more ran in its calls. Browsers zoom into a box by a click and
 * search by Ctrl-F; other viewers show it as a picture. The numbers in the boxes' titles add up to all that ran.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "sums_tree.h"

enum {
	WIDTH = 1200,
	PAD = 10,
	ROW = 16,
	TOP = 56,
	SMALLEST = 2000 /* of the whole, in parts: narrower boxes are not drawn */
};

struct flamegraph {
	const struct sums_tree *tree;
	const struct sink *sink;
	struct sums_children children;
	struct buf out, name;
	uint32_t *depth; /* by node; the root's is 0 */
	uint32_t deepest;
};

/* Text of any origin in XML: what it forbids becomes U+FFFD. */
static void put_text(struct buf *out, const char *text)
{
	uint32_t character;

	while (*text) {
		unsigned n = utf8_decode(text, &character);

		if (!n || utf8_is_control(character) || (character & 0xfffe) == 0xfffe)
			buf_printf(out, "\xef\xbf\xbd");
		else if (*text == '<' || *text == '&' || *text == '"' || *text == '>')
			buf_printf(out, "&#%d;", *text);
		else
			buf_put(out, text, n);
		text += n ? n : 1;
	}
}

static void put_number(struct buf *out, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_put_u8(out, ',');
		buf_put_u8(out, (uint8_t)digits[i]);
	}
}

/* A colour that is the same for a name wherever it is: warm for the kernel, cool for programs, grey for whose it is. */
static void put_colour(struct flamegraph *g, uint32_t node, uint64_t hash)
{
	const struct names *names = g->tree->session->names;
	unsigned vary = (unsigned)(hash % 40);
	uint32_t function = g->tree->tree.nodes[node].function;

	if (!node || sums_tree_is_whose(g->tree, node))
		buf_printf(&g->out, "hsl(220,8%%,%u%%)", 78 + vary / 8);
	else if (names_is_user(names, function))
		buf_printf(&g->out, "hsl(%u,55%%,%u%%)", 185 + vary, 66 + vary / 4);
	else if (*names_object(names, function))
		buf_printf(&g->out, "hsl(%u,70%%,%u%%)", 45 + vary / 3, 60 + vary / 4);
	else
		buf_printf(&g->out, "hsl(%u,80%%,%u%%)", 10 + vary / 2, 64 + vary / 4);
}

static void put_box(struct flamegraph *g, uint32_t node, double x, double width, uint64_t total)
{
	enum { LETTER = 7 };
	uint64_t all = sums_tree_total(g->tree, 0);
	double y = TOP + (double)(g->deepest - g->depth[node]) * ROW;

	g->name.len = 0;
	if (node)
		sums_tree_name(g->tree, node, &g->name);
	else
		buf_printf(&g->name, "all");
	buf_put_u8(&g->name, 0);
	buf_printf(&g->out, "<g><title>");
	put_text(&g->out, (char *)g->name.data);
	buf_printf(&g->out, " (");
	put_number(&g->out, total);
	buf_printf(&g->out, " %s, %.2f%%)</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		   g->tree->by_ns ? "ns" : "instructions", all ? 100.0 * (double)total / (double)all : 0, x, y, width,
		   ROW - 1);
	put_colour(g, node, hash_text(1, (char *)g->name.data));
	buf_printf(&g->out, "\"/><text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12);
	if (width >= 3 * LETTER) {
		struct buf cut = { 0 };

		utf8_put_start(&cut, (char *)g->name.data, (size_t)(width / LETTER));
		buf_put_u8(&cut, 0);
		put_text(&g->out, (char *)cut.data);
		buf_free(&cut);
	}
	buf_printf(&g->out, "</text></g>\n");
}

static bool is_wide(const struct flamegraph *g, uint32_t node)
{
	return sums_tree_total(g->tree, node) > sums_tree_total(g->tree, 0) / SMALLEST;
}

/* Nodes in the order in which they are drawn, each with where it begins; a node is before its children. */
static int put_boxes(struct flamegraph *g, struct error *err)
{
	double unit = sums_tree_total(g->tree, 0) ? (double)(WIDTH - 2 * PAD) / (double)sums_tree_total(g->tree, 0) : 0;
	struct box {
		uint32_t node;
		uint64_t begin;
	} *todo = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	todo = array_grow(todo, n, &cap, sizeof *todo);
	todo[n++] = (struct box){ 0 };
	while (n && r == 0) {
		struct box b = todo[--n];
		uint64_t begin = b.begin;

		put_box(g, b.node, PAD + (double)b.begin * unit, (double)sums_tree_total(g->tree, b.node) * unit,
			sums_tree_total(g->tree, b.node));
		for (uint32_t i = g->children.first[b.node]; i < g->children.first[b.node + 1]; i++) {
			uint32_t child = g->children.list[i];

			if (!is_wide(g, child))
				break; /* the others are narrower still */
			todo = array_grow(todo, n, &cap, sizeof *todo);
			todo[n++] = (struct box){ child, begin };
			begin += sums_tree_total(g->tree, child);
		}
		r = sink_pass(g->sink, &g->out, err);
	}
	free(todo);
	return r;
}

static void measure(struct flamegraph *g)
{
	g->depth = xcalloc(g->tree->tree.count, sizeof *g->depth);
	for (uint32_t i = 1; i < g->tree->tree.count; i++) {
		g->depth[i] = g->depth[g->tree->tree.nodes[i].parent] + 1;
		if (is_wide(g, i) && g->depth[i] > g->deepest)
			g->deepest = g->depth[i];
	}
}

/*
 * Names get into it as text of elements only, which it never makes code of. Places and widths have two decimals, so
 * ends of boxes that are flush may differ by .02.
 */
static const char script[] =
	"const svg=document.documentElement,boxes=[...svg.querySelectorAll('g')],W=1180,P=10;\n"
	"for(const g of boxes){const r=g.querySelector('rect');g.x=+r.getAttribute('x');g.w=+r.getAttribute('width');"
	"g.y=+r.getAttribute('y');g.name=g.querySelector('title').textContent;"
	"g.addEventListener('click',()=>zoom(g));}\n"
	"function zoom(to){const k=W/to.w;for(const g of boxes){const r=g.querySelector('rect'),t=g.querySelector('text');"
	"const around=g.y>=to.y&&g.x<=to.x+.025&&g.x+g.w>=to.x+to.w-.025,"
	"inside=g.y<=to.y&&g.x>=to.x-.025&&g.x+g.w<=to.x+to.w+.025;"
	"g.style.display=around||inside?'':'none';if(!around&&!inside)continue;"
	"const x=around?P:P+(g.x-to.x)*k,w=around?W:g.w*k,n=Math.floor(w/7),name=g.name.replace(/ \\([^(]*\\)$/,'');"
	"r.setAttribute('x',x);r.setAttribute('width',w);t.setAttribute('x',x+3);"
	"t.textContent=n<3?'':name.length>n?name.slice(0,n-1)+'\\u2026':name;g.style.opacity=around&&g!==to?.5:1;}}\n"
	"function find(){const what=prompt('Functions to mark (a regular expression):','');if(what===null)return;let re;"
	"try{re=new RegExp(what)}catch(e){alert(e.message);return}"
	"for(const g of boxes)g.querySelector('rect').style.fill=what&&re.test(g.name)?'#d0f':'';}\n"
	"addEventListener('keydown',e=>{if(e.key==='f'&&(e.ctrlKey||e.metaKey)){e.preventDefault();find()}"
	"if(e.key==='Escape')zoom(boxes[0])});\n";

static void put_head(struct flamegraph *g, const char *title)
{
	int height = TOP + (int)(g->deepest + 1) * ROW + PAD;

	buf_printf(&g->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		   "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"11\">\n",
		   WIDTH, height, WIDTH, height);
	buf_printf(&g->out,
		   "<style>text{pointer-events:none}g{cursor:pointer}g:hover rect{stroke:#000}</style>\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" font-size=\"16\">",
		   PAD);
	put_text(&g->out, title);
	buf_printf(&g->out,
		   "</text>\n<text x=\"%d\" y=\"42\" fill=\"#555\">%s; a click zooms, Esc shows all, Ctrl-F marks"
		   "</text>\n",
		   PAD, g->tree->by_ns ? "guest time" : "instructions");
}

static int put_all(struct flamegraph *g, const char *title, struct error *err)
{
	int r;

	measure(g);
	put_head(g, title);
	r = put_boxes(g, err);
	buf_printf(&g->out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
	return sink_end(g->sink, &g->out, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct sums_tree tree;
	struct flamegraph g = { .tree = &tree, .sink = sink };
	int r = sums_tree_make(session, options, &tree, err);

	if (r == 0) {
		sums_children_make(&tree, &g.children);
		r = put_all(&g, options->title, err);
		sums_children_deinit(&g.children);
	}
	sums_tree_deinit(&tree);
	free(g.depth);
	buf_free(&g.name);
	return r;
}

const struct exporter export_flamegraph = {
	.name = "flamegraph",
	.help = "a flame graph (SVG), for any browser",
	.kind = EXPORTS_SUMS,
	.split = true,
	.put = put,
};
