/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest_address.h"

struct narrow guest_narrow;
