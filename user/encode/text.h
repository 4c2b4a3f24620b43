/* SPDX-License-Identifier: Apache-2.0 */
/* Text that anybody may have chosen, made fit for a file format. */
#ifndef BPFPROF_ENCODE_TEXT_H
#define BPFPROF_ENCODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The length of the well-formed UTF-8 sequence (Unicode table 3-7) that the @left > 0 bytes at @str
 * begin with, or 0. */
size_t text_utf8_len(const char *str, size_t left);

/* Is the whole string well-formed? */
bool text_is_utf8(const char *str, size_t len);

/* Append @str with each byte that is not part of well-formed UTF-8 replaced by '?'. */
void text_add_utf8(struct buf *out, const char *str, size_t len);

/* The same for a text that shall stay on its line: control bytes become '?' too. */
void text_add_line(struct buf *out, const char *str, size_t len);

/* The same for one frame of a folded stack, where ';' becomes ':'. */
void text_add_frame(struct buf *out, const char *str, size_t len);

/* Append @str, which has no control bytes, as a code span in a cell of a Markdown table. */
void text_add_code(struct buf *out, const char *str);

#endif
