/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where there is no Node.js to build the page with. */
#include "page_bytes.h"

const unsigned char page_head[1], page_tail[1];
const size_t page_head_size, page_tail_size;
