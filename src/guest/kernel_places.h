/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a build, or a distribution, leaves the files that belong to a kernel's image. */
#ifndef UPTO_GUEST_KERNEL_PLACES_H
#define UPTO_GUEST_KERNEL_PLACES_H

#include "kernel_image.h"

/*
 * Call look() with each file that is there and may belong to the image at `path`, the likeliest first, until it returns
 * false. They are not proved. An image alone in its folder has none.
 */
void kernel_places(const char *path, const struct kernel_image *image, bool (*look)(void *state, const char *path),
		   void *state);

/* The third word of "Linux version 6.12.1 …". The caller frees it. */
char *kernel_release(const char *banner);

#endif
