/* SPDX-License-Identifier: Apache-2.0 */
/* One mapping of a process. */
#include "proc/maps_line.h"

#include "base/reader.h"

bool maps_line_parse(const char *text, size_t len, struct maps_line *out)
{
	const char *perms, *inode;
	struct reader rd;
	size_t n;

	reader_init(&rd, text, len);
	out->start = reader_number(&rd, 16);
	reader_accept(&rd, '-');
	out->end = reader_number(&rd, 16);
	reader_accept(&rd, ' ');
	perms = reader_until(&rd, ' ', &n);
	if (!perms || n < 3)
		return false;
	out->is_exec = perms[2] == 'x';
	out->file_off = reader_number(&rd, 16);
	reader_accept(&rd, ' ');
	out->file = reader_until(&rd, ' ', &n);
	inode = reader_until(&rd, ' ', &n);
	if (!inode || rd.err)
		return false;
	out->is_file = inode[0] != '0';
	out->file_len = (size_t)(inode + n - out->file);
	while (reader_accept(&rd, ' '))
		;
	out->path_len = reader_left(&rd);
	out->path = text + len - out->path_len;
	return true;
}
