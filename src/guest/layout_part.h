/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A structure of this name marks BTF that upto wrote of what it learnt: the kernel may have more than is described. */
#ifndef UPTO_GUEST_LAYOUT_PART_H
#define UPTO_GUEST_LAYOUT_PART_H

#define LAYOUT_PART "upto_layout_part"

#endif
