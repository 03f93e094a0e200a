/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fact_readers.h"

#include <stdio.h>
#include <string.h>

#include "kernel_argument.h"
#include "learning.h"
#include "recorder/qemu/guest_time.h"
#include "structures.h"

enum {
	NAME_MAX_LEN = 256,
	/* of one line of the log; the kernel's own limit is 1 kB, and there may be several records in one */
	LOG_MAX = 8192,
	ARGUMENTS_MAX = 4096,   /* of a program's arguments */
};

static __thread char texts[FACT_TEXTS][LOG_MAX + 1];
static __thread char path[STRUCTURE_PATH];

static void add_number(struct fact *fact, uint64_t number)
{
	fact->numbers[fact->n_numbers++] = number;
}

static void add_bytes(struct fact *fact, const char *bytes, size_t n)
{
	fact->texts[fact->n_texts] = bytes;
	fact->lens[fact->n_texts++] = n;
}

/* A string of the kernel's. */
static void add_text(struct vcpu *v, struct fact *fact, uint64_t addr)
{
	char *text = texts[fact->n_texts];

	if (addr)
		structure_text(v, addr, text, NAME_MAX_LEN);
	else
		*text = '\0';
	add_bytes(fact, text, strlen(text));
}

static uint64_t argument(struct vcpu *v, unsigned i)
{
	return kernel_argument(&v->regs, i);
}

bool read_wake(struct vcpu *v, struct fact *fact)
{
	uint64_t task = argument(v, 0);
	uint32_t states = (uint32_t)argument(v, 1), state = (uint32_t)structure_read(v, task, TASK_STATE, 4);

	if (structure_at(TASK_STATE) == MEMBER_UNKNOWN)
		return false;
	/* who does not sleep in one of the states is not woken up: ttwu_state_match() */
	add_number(fact, task);
	return (state & states) != 0;
}

/* Where in the ring of texts a record's text is: get_data() in kernel/printk/printk_ringbuffer.c. 0: nowhere. */
static uint64_t log_text(struct vcpu *v, uint64_t ring, uint64_t descriptor)
{
	uint64_t texts_ring = ring + (uint64_t)structure_at(LOG_TEXTS),
		 place = descriptor + (uint64_t)structure_at(LOG_PLACE);
	uint64_t size_bits = structure_read(v, texts_ring, LOG_TEXTS_BITS, 4),
		 data = structure_pointer(v, texts_ring, LOG_TEXTS_DATA);
	uint64_t begin = structure_long(v, place, LOG_PLACE_BEGIN), next = structure_long(v, place, LOG_PLACE_NEXT);
	uint64_t mask = (1ull << (size_bits & 63)) - 1;

	if (!data || begin & 1 || !size_bits || size_bits > 31)
		return 0;
	/* who does not fit before the ring's end is at its beginning */
	if ((begin & ~mask) != (next & ~mask) && (next & mask))
		begin = 0;
	/* a number precedes the text */
	return data + (begin & mask) + guest_word();
}

static bool knows_log(void)
{
	const struct layout *l = &recorder.kernel.layout;

	return l->size[SIZE_LOG_DESCRIPTOR] && l->size[SIZE_LOG_INFO] &&
	       STRUCTURES_KNOWN(LOG_FACILITY, LOG_DESCRIPTORS, LOG_TEXTS);
}

/* struct printk_info: a byte behind the facility has flags in its five lower bits and the level above */
static bool add_log(struct vcpu *v, struct fact *fact, uint64_t info, uint64_t text)
{
	uint16_t len = (uint16_t)structure_read(v, info, LOG_LEN, 2);
	uint8_t level;

	if (!guest_read(&v->regs, info + (uint64_t)structure_at(LOG_FACILITY) + 1, &level, 1))
		return false;
	if (len > LOG_MAX)
		len = LOG_MAX;
	if (!text || !guest_read(&v->regs, text, texts[0], len))
		len = 0;
	add_number(fact, structure_read(v, info, LOG_NUMBER, 8));
	add_number(fact, level >> 5);
	add_number(fact, structure_read(v, info, LOG_FACILITY, 1));
	add_number(fact, structure_read(v, info, LOG_CALLER, 4));
	add_bytes(fact, texts[0], len);
	return true;
}

/* A record's struct printk_info, and its text; 0: it has none. */
static uint64_t log_record(struct vcpu *v, uint64_t ring, uint64_t id, uint64_t *ret_text)
{
	const struct layout *l = &recorder.kernel.layout;
	uint64_t descriptors = ring + (uint64_t)structure_at(LOG_DESCRIPTORS);
	uint64_t number = id & ((1ull << (structure_read(v, descriptors, LOG_COUNT_BITS, 4) & 63)) - 1);

	*ret_text = log_text(v, ring,
			     structure_pointer(v, descriptors, LOG_DESCS) + number * l->size[SIZE_LOG_DESCRIPTOR]);
	return structure_pointer(v, descriptors, LOG_INFOS) + number * l->size[SIZE_LOG_INFO];
}

bool read_log(struct vcpu *v, struct fact *fact)
{
	uint64_t entry = argument(v, 0), ring, info, text;

	learning_log(v, entry);
	ring = structure_pointer(v, entry, LOG_ENTRY_RING);
	if (!ring || !knows_log())
		return false;
	info = log_record(v, ring, structure_long(v, entry, LOG_ENTRY_ID), &text);
	return add_log(v, fact, info, text);
}

bool read_log_record(struct vcpu *v, struct fact *fact, uint64_t ring, uint64_t id)
{
	uint64_t info, text;

	if (!knows_log() || structure_at(LOG_TIME) == MEMBER_UNKNOWN)
		return false;
	info = log_record(v, ring, id, &text);
	if (!text || !add_log(v, fact, info, text))
		return false;
	add_number(fact, structure_read(v, info, LOG_TIME, 8));
	return true;
}

bool read_initcall(struct vcpu *v, struct fact *fact)
{
	add_number(fact, argument(v, 0));
	return true;
}

bool read_level(struct vcpu *v, struct fact *fact)
{
	add_text(v, fact, argument(v, 0));
	return true;
}

bool read_probe(struct vcpu *v, struct fact *fact)
{
	uint64_t device = argument(v, 0), driver = argument(v, 1);
	uint64_t name;

	learning_probe(v, device, driver);
	if (!STRUCTURES_KNOWN(DEVICE_OBJECT, OBJECT_NAME, DRIVER_NAME, DRIVER_BUS, BUS_NAME))
		return false;
	name = structure_pointer(v, device + (uint64_t)structure_at(DEVICE_OBJECT), OBJECT_NAME);
	/* dev_name(), include/linux/device.h */
	add_text(v, fact, name ? name : structure_pointer(v, device, DEVICE_INIT_NAME));
	add_text(v, fact, structure_pointer(v, driver, DRIVER_NAME));
	add_text(v, fact, structure_pointer(v, structure_pointer(v, driver, DRIVER_BUS), BUS_NAME));
	return true;
}

/* A mount's source, type and place. False: the place cannot be told. */
static bool add_mount(struct vcpu *v, struct fact *fact, uint64_t source, uint64_t type, uint64_t at)
{
	const char *point;

	if (!STRUCTURES_KNOWN(MOUNT_MNT, PATH_DENTRY, DENTRY_PARENT, DENTRY_NAME, VFSMOUNT_ROOT))
		return false;
	point = structure_path_at(v, at, path);
	add_text(v, fact, source);
	add_text(v, fact, type);
	add_bytes(fact, *point ? point : "/", *point ? strlen(point) : 1);
	return true;
}

bool read_mount(struct vcpu *v, struct fact *fact)
{
	if (!add_mount(v, fact, argument(v, 0), argument(v, 2), argument(v, 1)))
		return false;
	add_number(fact, argument(v, 3));
	return true;
}

bool read_move_mount(struct vcpu *v, struct fact *fact)
{
	uint64_t mnt = structure_pointer(v, argument(v, 0), PATH_MNT);
	uint64_t type = structure_pointer(v, structure_pointer(v, mnt, VFSMOUNT_SUPER), SUPER_TYPE);

	if (!mnt || !STRUCTURES_KNOWN(MOUNT_MNT, VFSMOUNT_SUPER, SUPER_TYPE, FSTYPE_NAME) ||
	    !add_mount(v, fact, structure_pointer(v, mnt - (uint64_t)structure_at(MOUNT_MNT), MOUNT_DEVNAME),
		       structure_pointer(v, type, FSTYPE_NAME), argument(v, 1)))
		return false;
	add_number(fact, 0);
	return true;
}

bool read_firmware(struct vcpu *v, struct fact *fact)
{
	add_text(v, fact, argument(v, 1));
	return true;
}

static uint64_t disk_of(struct vcpu *v, uint64_t request)
{
	if (structure_at(REQUEST_DISK) != MEMBER_UNKNOWN)
		return structure_pointer(v, request, REQUEST_DISK);
	return structure_pointer(v, structure_pointer(v, request, REQUEST_QUEUE), QUEUE_DISK);
}

bool read_issue(struct vcpu *v, struct fact *fact)
{
	enum { REQ_OP_MASK = 0xff }; /* include/linux/blk_types.h */
	uint64_t request = argument(v, 0), disk, sector;

	learning_request(v, request);
	if (!STRUCTURES_KNOWN(REQUEST_FLAGS, REQUEST_SECTOR, REQUEST_BYTES))
		return false;
	disk = disk_of(v, request);
	sector = structure_read(v, request, REQUEST_SECTOR, 8);
	add_number(fact, request);
	add_number(fact, structure_read(v, request, REQUEST_FLAGS, 4) & REQ_OP_MASK);
	add_number(fact, sector == UINT64_MAX ? 0 : sector); /* a flush has none: blk_rq_trace_sector() */
	add_number(fact, structure_read(v, request, REQUEST_BYTES, 4));
	add_text(v, fact,
		 disk && structure_at(DISK_NAME) != MEMBER_UNKNOWN ? disk + (uint64_t)structure_at(DISK_NAME) : 0);
	return true;
}

bool read_complete(struct vcpu *v, struct fact *fact)
{
	add_number(fact, argument(v, 0));
	add_number(fact, argument(v, 1) & 0xff); /* blk_status_t */
	add_number(fact, (uint32_t)argument(v, 2));
	return true;
}

/* struct io_comp_batch, include/linux/blkdev.h, which begins with the first request */
bool read_batch(struct vcpu *v, struct fact *fact)
{
	enum { REQUESTS = LOG_MAX / 8 };
	uint64_t request = structure_pointer_at(v, argument(v, 0)), last = 0;
	size_t n = 0;

	if (structure_at(REQUEST_NEXT) == MEMBER_UNKNOWN)
		return false;
	for (; request && n < REQUESTS; request = structure_pointer(v, request, REQUEST_NEXT)) {
		last = request;
		memcpy(texts[0] + 8 * n++, &request, 8);
	}
	add_number(fact, last);
	add_number(fact, 0);
	add_number(fact, 0);
	add_bytes(fact, texts[0], 8 * n);
	return n;
}

static bool tell_work(struct vcpu *v, struct fact *fact, uint64_t work)
{
	learning_work(v, work);
	if (structure_at(WORK_FUNCTION) == MEMBER_UNKNOWN)
		return false;
	add_number(fact, work);
	add_number(fact, structure_pointer(v, work, WORK_FUNCTION));
	return true;
}

bool read_queue(struct vcpu *v, struct fact *fact)
{
	return tell_work(v, fact, argument(v, 2));
}

bool read_timer(struct vcpu *v, struct fact *fact)
{
	uint64_t timer = argument(v, 0);

	learning_timer(v, timer);
	if (structure_at(TIMER_FUNCTION) == MEMBER_UNKNOWN)
		return false;
	add_number(fact, timer);
	add_number(fact, structure_pointer(v, timer, TIMER_FUNCTION));
	return true;
}

/* A reader's semaphore has the task that got it last, which need not have it any more: kernel/locking/rwsem.c. */
static bool tell_lock(struct vcpu *v, struct fact *fact, enum member owner, uint64_t not_held)
{
	enum { FLAGS = 7 };
	uint64_t lock = argument(v, 0), holder;

	if (structure_at(owner) == MEMBER_UNKNOWN)
		return false;
	holder = structure_pointer(v, lock, owner);
	add_number(fact, lock);
	add_number(fact, holder & not_held ? 0 : holder & ~(uint64_t)FLAGS);
	return true;
}

bool read_mutex(struct vcpu *v, struct fact *fact)
{
	return tell_lock(v, fact, MUTEX_OWNER, 0);
}

bool read_semaphore(struct vcpu *v, struct fact *fact)
{
	enum { READER_OWNED = 1 };

	return tell_lock(v, fact, RWSEM_OWNER, READER_OWNED);
}

/*
 * Of so many counts: Linux has the APIC's timer count each 16th cycle of the bus (__setup_APIC_LVTT(),
 * arch/x86/kernel/apic/apic.c), and QEMU's bus has a cycle each nanosecond (hw/intc/apic.c).
 */
bool read_due(struct vcpu *v, struct fact *fact)
{
	enum { NS_SHIFT = 4 };

	add_number(fact, guest_time(v) + ((argument(v, 0) & UINT32_MAX) << NS_SHIFT));
	return true;
}

bool read_work(struct vcpu *v, struct fact *fact)
{
	return tell_work(v, fact, argument(v, 1));
}

bool read_arguments(struct vcpu *v, struct fact *fact)
{
	uint64_t mm = structure_pointer(v, v->task, TASK_MM), start, end;
	size_t n;

	learning_arguments(v, mm);
	start = structure_pointer(v, mm, MM_ARG_START);
	end = structure_pointer(v, mm, MM_ARG_END);
	n = end - start < ARGUMENTS_MAX ? end - start : ARGUMENTS_MAX;
	if (!start || end <= start)
		return false;
	/* a page that has not come into memory ends what can be read */
	while (n && !guest_read(&v->regs, start, texts[0], n))
		n = (start + n - 1) / 4096 * 4096 > start ? (start + n - 1) / 4096 * 4096 - start : 0;
	add_number(fact, end - start);
	add_bytes(fact, texts[0], n);
	return true;
}

/* The path of a group from the root of its hierarchy: names of struct kernfs_node. */
static const char *group_path(struct vcpu *v, uint64_t node, char *out, size_t size)
{
	enum { DEPTH = 32 };
	char *begin = out + size - 1;

	*begin = '\0';
	for (int i = 0; i < DEPTH && node; i++) {
		uint64_t parent = structure_pointer(v, node, NODE_PARENT);
		char name[NAME_MAX_LEN];
		size_t n;

		if (!parent)
			break;
		structure_text(v, structure_pointer(v, node, NODE_NAME), name, sizeof name);
		n = strlen(name);
		if ((size_t)(begin - out) < n + 1)
			break;
		begin -= n;
		memcpy(begin, name, n);
		*--begin = '/';
		node = parent;
	}
	return begin;
}

bool read_cgroup(struct vcpu *v, struct fact *fact)
{
	return read_membership(v, fact, argument(v, 0), argument(v, 1));
}

bool read_membership(struct vcpu *v, struct fact *fact, uint64_t group, uint64_t task)
{
	const char *text;

	if (!STRUCTURES_KNOWN(GROUP_NODE, NODE_NAME, NODE_PARENT))
		return false;
	text = group_path(v, structure_pointer(v, group, GROUP_NODE), path, sizeof path);
	add_number(fact, task);
	add_bytes(fact, *text ? text : "/", *text ? strlen(text) : 1);
	return true;
}

bool read_group(struct vcpu *v, struct fact *fact)
{
	char name[NAME_MAX_LEN];
	const char *above;
	int n;

	learning_group(v, argument(v, 0));
	if (!STRUCTURES_KNOWN(NODE_NAME, NODE_PARENT))
		return false;
	above = group_path(v, argument(v, 0), path, sizeof path);
	structure_text(v, argument(v, 1), name, sizeof name);
	n = snprintf(texts[0], sizeof texts[0], "%s/%s", above, name);
	add_bytes(fact, texts[0], (size_t)n < sizeof texts[0] ? (size_t)n : sizeof texts[0] - 1);
	return true;
}

bool read_group_gone(struct vcpu *v, struct fact *fact)
{
	const char *text = group_path(v, argument(v, 0), path, sizeof path);

	add_bytes(fact, text, strlen(text));
	return *text;
}

/* struct kunit_try_catch_context, lib/kunit/test.c; kunit_suite and kunit_case, include/kunit/test.h: since 5.8. */
bool read_test(struct vcpu *v, struct fact *fact)
{
	enum { TEST, SUITE, CASE, CONTEXT }; /* pointers */
	enum { SUITE_NAME = 0, CASE_NAME = 1 };
	uint64_t context[CONTEXT], name = 0;
	char suite[NAME_MAX_LEN], cases[NAME_MAX_LEN];
	int n;

	if (guest_is_narrow() || !guest_read(&v->regs, argument(v, 0), context, sizeof context) ||
	    !guest_read(&v->regs, context[CASE] + CASE_NAME * guest_word(), &name, guest_word()))
		return false;
	structure_text(v, context[SUITE] + SUITE_NAME, suite, sizeof suite);
	structure_text(v, name, cases, sizeof cases);
	n = snprintf(texts[0], sizeof texts[0], "%s.%s", suite, cases);
	add_bytes(fact, texts[0], (size_t)n);
	return *suite && *cases;
}

bool read_audit(struct vcpu *v, struct fact *fact)
{
	/* struct nlmsghdr, include/uapi/linux/netlink.h */
	struct {
		uint32_t len;
		uint16_t type, flags;
		uint32_t seq, pid;
	} header;
	enum { FIRST_OF_PROGRAMS = 1100, TEXT_MAX = 256 }; /* AUDIT_FIRST_USER_MSG, include/uapi/linux/audit.h */
	uint64_t message = argument(v, 1);
	size_t n;

	if (!guest_read(&v->regs, message, &header, sizeof header) || header.type < FIRST_OF_PROGRAMS ||
	    header.len <= sizeof header)
		return false;
	n = header.len - sizeof header < TEXT_MAX ? header.len - sizeof header : TEXT_MAX;
	if (!guest_read(&v->regs, message + sizeof header, texts[0], n))
		return false;
	add_number(fact, header.type);
	add_bytes(fact, texts[0], strnlen(texts[0], n));
	return true;
}
