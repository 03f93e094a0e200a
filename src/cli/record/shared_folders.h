/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders that virtiofsd, a program beside QEMU, lends to a guest. QEMU's command line has but the socket between the
 * two; who listens there is found among the host's processes, and its own command line names the folder.
 */
#ifndef UPTO_CLI_RECORD_SHARED_FOLDERS_H
#define UPTO_CLI_RECORD_SHARED_FOLDERS_H

#include "base/buf.h"

/*
 * Append the folders of all virtiofsd that run for this command line of QEMU, each with a 0 behind it. While they run:
 * they end with their guest.
 */
void shared_folders_find(char *const *argv, struct buf *ret);

/*
 * The folder in a virtiofsd's own words, with a 0 behind each: --shared-dir D, --shared-dir=D or -o source=D; or NULL.
 */
const char *shared_folder_of(const char *words, size_t len, size_t *ret_len);

#endif
