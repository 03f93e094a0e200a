/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bzimage.h"

#include "unpack.h"

enum {
	SETUP_SECTS = 0x1f1,
	HEADER_MAGIC = 0x202,
	VERSION = 0x206,
	PAYLOAD_OFFSET = 0x248,
	PAYLOAD_LENGTH = 0x24c,
	HEADER_END = 0x250,
	VMLINUX_LIMIT = 1 << 30,
};

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

bool bzimage_is(const void *data, size_t len)
{
	return len >= HEADER_END && !memcmp((const uint8_t *)data + HEADER_MAGIC, "HdrS", 4);
}

int bzimage_unpack(const void *data, size_t len, struct buf *ret_vmlinux, struct error *err)
{
	const uint8_t *image = data;
	enum { PACKED_MOST = 64 }; /* times; kernels are packed to a fifth or so */
	uint64_t start, size;
	uint32_t unpacked, expected;
	unsigned sects;

	if (!bzimage_is(data, len))
		return error_set(err, "not a bzImage");
	if ((image[VERSION] | image[VERSION + 1] << 8) < 0x208)
		return error_set(err, "boot protocol %x.%02x is older than 2.08, which first tells where the kernel is",
				 image[VERSION + 1], image[VERSION]);
	sects = image[SETUP_SECTS] ? image[SETUP_SECTS] : 4;
	start = (uint64_t)(sects + 1) * 512 + le32(image + PAYLOAD_OFFSET);
	size = le32(image + PAYLOAD_LENGTH);
	if (start > len || size > len - start)
		return error_set(err,
				 "the payload (offset %llu, %llu bytes) reaches past the end: the file is cut short",
				 (unsigned long long)start, (unsigned long long)size);
	if (size < 8)
		return error_set(err, "the payload has %llu bytes", (unsigned long long)size);
	/* gzip ends with the unpacked size; behind other formats the build appends it (size_append) */
	unpacked = le32(image + start + size - 4);
	if (image[start] != 0x1f || image[start + 1] != 0x8b)
		size -= 4;
	/* what would be packed to so little is hardly true, and need not be reserved */
	expected = unpacked / PACKED_MOST <= size ? unpacked : 0;
	if (unpack(image + start, size, expected, VMLINUX_LIMIT, ret_vmlinux, err) < 0)
		return error_prefix(err, "payload");
	if (ret_vmlinux->len != unpacked) {
		error_set(err, "the payload unpacks to %zu bytes, not to the %u that it tells: the file is damaged",
			  ret_vmlinux->len, unpacked);
		buf_free(ret_vmlinux);
		return -1;
	}
	if (ret_vmlinux->len < 4 || memcmp(ret_vmlinux->data, "\177ELF", 4)) {
		buf_free(ret_vmlinux);
		return error_set(err, "the payload is no ELF file");
	}
	return 0;
}
