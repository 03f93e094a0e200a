/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kd's table of functions. */
#ifndef UPTO_CLI_KFI_KD_FUNCTIONS_H
#define UPTO_CLI_KFI_KD_FUNCTIONS_H

#include "analysis/kd/kd_sums.h"
#include "kd_text.h"

extern const struct kd_column kd_function_columns[];
#define KD_FUNCTION_LETTERS "Fctal"
#define KD_FUNCTION_LETTERS_LONG "Fctalsmn"
#define KD_FUNCTION_SORT "Fctasl"

struct kd_functions_options {
	const char *letters;  /* of kd_function_columns */
	char sort;            /* one of KD_FUNCTION_SORT */
	uint64_t lines;       /* UINT64_MAX: all */
	bool has_min;
	uint64_t more_than_us;
	bool json;
};

/* Puts the sums' list into order. */
void kd_functions_print(const struct kfi_log *log, struct kd_sums *sums, const struct kd_functions_options *options);

#endif
