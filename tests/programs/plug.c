// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that comes and goes. */
static volatile int sink;
__attribute__((noinline)) static void within(int n) { sink += n; }
void plug(int n) { for (int i = 0; i < 3; i++) within(n); }
