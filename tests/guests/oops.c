/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module that reads where nothing is, two calls deep. */
#include <linux/module.h>
static noinline int deeper(int *p) { return *p + 1; }
static noinline int deep(int *p) { return deeper(p) + 1; }
static int __init oops_init(void) { return deep((int *)8) ? -EINVAL : 0; }
module_init(oops_init);
MODULE_LICENSE("GPL");
