/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals by which people and service managers end a command. */
#ifndef UPTO_CLI_END_SIGNALS_H
#define UPTO_CLI_END_SIGNALS_H

#include <signal.h>

enum { END_SIGNALS = 3 };
static const int end_signals[END_SIGNALS] = { SIGINT, SIGTERM, SIGHUP };

#endif
