/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log, devices, requests, work, timers and groups. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "learn_inner.h"

static bool is_kernel_text(uint64_t addr)
{
	return addr >= 0xffffffff80000000u && addr < 0xffffffffff000000u;
}

/* struct prb_data_ring: its size as a power of two, and where it is. */
static bool is_ring_of_texts(const struct learn_memory *m, uint64_t addr)
{
	uint32_t bits = read_u32(m, addr);

	return bits >= 10 && bits <= 27 && is_pointer(read_u64(m, addr + 8));
}

/*
 * How long a struct printk_info is, which begins with the line's number: that of the descriptor with it, as long as the
 * ring has not been written over. 88 bytes, 112 since 7.0.
 */
static uint32_t find_info_size(const struct learn_memory *m, uint64_t infos, uint64_t number, uint64_t mask)
{
	enum { LEAST = 64, MOST = 256 };
	uint32_t found = 0;

	for (uint32_t size = LEAST; size <= MOST; size += WORD)
		if ((read_u64(m, infos + number * size) & mask) == number) {
			if (found)
				return 0;
			found = size;
		}
	return found;
}

/*
 * kernel/printk/printk_ringbuffer.h. A line's text stands where its descriptor says, and is as long as its info says.
 */
bool learn_log(struct learner *l, const struct learn_memory *m, uint64_t entry)
{
	enum { ID_AT = 16, DESCRIPTOR = 24, USUAL_INFO = 88, INFO_LEN_AT = 16, PLACE_AT = 8, NEWER = 48, OLDER = 40 };
	uint64_t ring = read_u64(m, entry), id = read_u64(m, entry + ID_AT), descs = read_u64(m, ring + 8),
		 infos = read_u64(m, ring + 16);
	uint32_t bits = read_u32(m, ring);
	uint64_t number, begin, next, len;
	int texts = NOT_FOUND;
	uint32_t info;

	if (l->log_is_sure || !is_pointer(ring) || bits < 4 || bits > 24 || !is_pointer(descs) || !is_pointer(infos))
		return false;
	for (int at = OLDER; at <= NEWER; at += WORD)
		if (is_ring_of_texts(m, ring + (uint64_t)at))
			add_candidate(&texts, at);
	number = id & ((1ull << bits) - 1);
	begin = read_u64(m, descs + number * DESCRIPTOR + PLACE_AT);
	next = read_u64(m, descs + number * DESCRIPTOR + PLACE_AT + 8);
	/* of the first line, it makes no difference */
	info = number ? find_info_size(m, infos, number, (1ull << bits) - 1) : USUAL_INFO;
	len = read_u32(m, infos + number * info + INFO_LEN_AT) & 0xffff;
	if (texts < 0 || !info || begin & 1 || next <= begin || len + 8 > next - begin || next - begin > 1 << 16)
		return false;
	learnt(l, LOG_ENTRY_ID, ID_AT);
	learnt(l, LOG_DESCRIPTORS, 0);
	learnt(l, LOG_TEXTS, texts);
	learnt(l, LOG_COUNT_BITS, 0);
	learnt(l, LOG_DESCS, 8);
	learnt(l, LOG_INFOS, 16);
	learnt(l, LOG_TEXTS_BITS, 0);
	learnt(l, LOG_TEXTS_DATA, 8);
	learnt(l, LOG_PLACE, PLACE_AT);
	learnt(l, LOG_PLACE_BEGIN, 0);
	learnt(l, LOG_PLACE_NEXT, 8);
	learnt(l, LOG_NUMBER, 0);
	learnt(l, LOG_LEN, INFO_LEN_AT);
	learnt(l, LOG_FACILITY, 18);
	learnt(l, LOG_CALLER, 20);
	l->layout->size[SIZE_LOG_DESCRIPTOR] = DESCRIPTOR;
	l->layout->size[SIZE_LOG_INFO] = info;
	l->log_is_sure = number;
	return learnt(l, LOG_ENTRY_RING, 0);
}

/* struct device begins with its kobject, and that with its name; drivers and buses with theirs. */
bool learn_probe(struct learner *l, const struct learn_memory *m, uint64_t device, uint64_t driver)
{
	enum { BUS_AT = 8 };
	uint64_t bus = read_u64(m, driver + BUS_AT);
	char name[128];

	if (!is_pointer(device) || !is_pointer(driver) || !is_pointer(bus) ||
	    !read_name(m, read_u64(m, device), name, sizeof name) ||
	    !read_name(m, read_u64(m, driver), name, sizeof name) || !read_name(m, read_u64(m, bus), name, sizeof name))
		return false;
	return learnt(l, DEVICE_OBJECT, 0) | learnt(l, OBJECT_NAME, 0) | learnt(l, DRIVER_NAME, 0) |
	       learnt(l, DRIVER_BUS, BUS_AT) | learnt(l, BUS_NAME, 0);
}

/* struct gendisk: major, first_minor, minors, disk_name. */
static bool is_disk(const struct learn_memory *m, uint64_t disk)
{
	enum { NAME_AT = 12, NAME_LEN = 32 };
	char name[NAME_LEN];

	return is_pointer(disk) && read_u32(m, disk) && read_u32(m, disk) < 1 << 12 &&
	       read_u32(m, disk + 4) < 1 << 20 && read_name(m, disk + NAME_AT, name, sizeof name) && strlen(name) > 1;
}

/*
 * include/linux/blk-mq.h, bio: blk_types.h. A request has its first bio, which has the same operation and the same
 * first sector: … cmd_flags, …, __data_len, __sector, bio, biotail.
 */
bool learn_request(struct learner *l, const struct learn_memory *m, uint64_t request)
{
	enum { FLAGS_AT = 24, BIO_FLAGS_AT = 16, REQUEST_MAX = 128, QUEUE_MAX = 1024, BIO_MAX = 96, DISK_NAME_AT = 12 };
	uint32_t flags = read_u32(m, request + FLAGS_AT);
	uint64_t queue = read_u64(m, request);
	int at_sector = NOT_FOUND, at_disk = NOT_FOUND;

	if (knows(l, REQUEST_SECTOR) || !is_pointer(request) || !is_pointer(queue))
		return false;
	for (int at = FLAGS_AT + 16; at < REQUEST_MAX; at += WORD) {
		uint64_t sector = read_u64(m, request + (uint64_t)at), bio = read_u64(m, request + (uint64_t)at + 8);
		uint32_t len = read_u32(m, request + (uint64_t)at - 4);

		if (!sector || sector >> 40 || !is_pointer(bio) || read_u32(m, bio + BIO_FLAGS_AT) != flags || !len ||
		    len % 512)
			continue;
		for (uint64_t b = BIO_FLAGS_AT; b < BIO_MAX; b += WORD)
			if (read_u64(m, bio + b) == sector && read_u32(m, bio + b + 8) &&
			    read_u32(m, bio + b + 8) <= len) {
				add_candidate(&at_sector, at);
				break;
			}
	}
	if (at_sector < 0)
		return false;
	for (int at = 0; at < QUEUE_MAX; at += WORD)
		if (is_disk(m, read_u64(m, queue + (uint64_t)at)))
			add_candidate(&at_disk, at);
	if (at_disk >= 0)
		learnt(l, QUEUE_DISK, at_disk), learnt(l, DISK_NAME, DISK_NAME_AT);
	return learnt(l, REQUEST_QUEUE, 0) | learnt(l, REQUEST_FLAGS, FLAGS_AT) |
	       learnt(l, REQUEST_BYTES, at_sector - 4) | learnt(l, REQUEST_SECTOR, at_sector);
}

/* struct work_struct: data, entry, func. */
bool learn_work(struct learner *l, const struct learn_memory *m, uint64_t work)
{
	enum { FUNCTION_AT = 24 };

	return is_pointer(work) && is_kernel_text(read_u64(m, work + FUNCTION_AT)) &&
	       learnt(l, WORK_FUNCTION, FUNCTION_AT);
}

/* struct timer_list: entry, expires, function. */
bool learn_timer(struct learner *l, const struct learn_memory *m, uint64_t timer)
{
	enum { FUNCTION_AT = 24 };

	return is_pointer(timer) && is_kernel_text(read_u64(m, timer + FUNCTION_AT)) &&
	       learnt(l, TIMER_FUNCTION, FUNCTION_AT);
}

static bool is_node(const struct learn_memory *m, uint64_t addr, int at_name)
{
	return is_pointer(addr) && addr % WORD == 0 && is_pointer(read_u64(m, addr + (uint64_t)at_name));
}

/*
 * include/linux/kernfs.h: a node's `priv` leads to the group, and the group's `kn` to the node. parent and name follow
 * each other (name and __parent since 6.15): the parent is a node, whose children include this one; its name is a text.
 */
bool learn_group(struct learner *l, const struct learn_memory *m, uint64_t node)
{
	enum { NODE_MAX = 160, GROUP_MAX = 2048 };
	int at_group = NOT_FOUND, at_parent = NOT_FOUND, at_name = NOT_FOUND;
	char name[128];

	if (knows(l, GROUP_NODE) || !is_pointer(node))
		return false;
	for (int at = 0; at < NODE_MAX; at += WORD) {
		uint64_t value = read_u64(m, node + (uint64_t)at);

		if (!is_pointer(value))
			continue;
		if (at_name == NOT_FOUND && read_name(m, value, name, sizeof name))
			at_name = at;
		for (int k = 0; k < GROUP_MAX && at_name >= 0; k += WORD)
			if (read_u64(m, value + (uint64_t)k) == node)
				add_candidate(&at_group, k);
	}
	/* the neighbour of the name that is a node, too */
	for (int side = -WORD; side <= WORD && at_name > 0; side += 2 * WORD)
		if (is_node(m, read_u64(m, node + (uint64_t)(at_name + side)), at_name))
			add_candidate(&at_parent, at_name + side);
	if (at_name < 0 || at_parent < 0 || at_group < 0)
		return false;
	return learnt(l, GROUP_NODE, at_group) | learnt(l, NODE_NAME, at_name) | learnt(l, NODE_PARENT, at_parent);
}
