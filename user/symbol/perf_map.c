/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of millions of lines holds for each of some thousand addresses, in memory that depends on
 * the addresses alone. The first pass over the file keeps, for each address, where the last line
 * that contains it begins; then only these lines are read again, for their names.
 *
 * A line contains a run of the sorted addresses. A file may be made such that each of its lines
 * contains them all, so the runs are noted in a segment tree, in O(log cnt): each line writes its
 * offset at the few nodes that cover its run. Offsets only grow, so the last line of an address is
 * the greatest of those at its leaf and above. Four addresses, leaves 4 to 7:
 *
 *              1                  line at 100 contains a b c: notes 100 at nodes 2 and 6
 *        2           3            line at 200 contains b:     notes 200 at node 5
 *     4a    5b    6c    7d        so b: max(200, 100), a and c: 100, d: none
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/reader.h"
#include "profile/ledger.h"
#include "symbol/addresses.h"

enum { PIECE_BYTES = 256 * 1024 };

struct map_line {
	uint64_t start, last; /* the range, both ends in it */
	const char *name; /* borrowed, not NUL-terminated */
	size_t name_len;
};

struct map_pass {
	const uint64_t *addresses;
	size_t cnt;
	uint64_t *tree; /* 2 * cnt nodes: 1 + the offset of a line; 0: none */
	bool is_skipping; /* behind what was looked at of a long line, before its end */
	struct perf_map_stats stats;
};

/* A hexadecimal number and the blanks that must follow it. */
static uint64_t read_number(struct reader *rd)
{
	uint64_t value;

	if (reader_left(rd) > 2 && rd->pos[0] == '0' && (rd->pos[1] | 0x20) == 'x')
		reader_skip(rd, 2);
	value = reader_number(rd, 16);
	if (!reader_accept(rd, ' '))
		return reader_fail(rd);
	while (reader_accept(rd, ' '))
		;
	return value;
}

/* False for a line that says nothing. */
static bool parse_line(const char *text, size_t len, struct map_line *out)
{
	struct reader rd;
	uint64_t size;

	reader_init(&rd, text, len < PERF_MAP_LINE_BYTES_MAX ? len : PERF_MAP_LINE_BYTES_MAX);
	out->start = read_number(&rd);
	size = read_number(&rd);
	out->last = out->start + size - 1;
	out->name = (const char *)rd.pos;
	out->name_len = reader_left(&rd);
	return !rd.err && size && out->last >= out->start && out->name_len && out->name[0];
}

static void note_line(struct map_pass *pass, const struct map_line *line, uint64_t offset)
{
	const uint64_t *addresses = pass->addresses;
	size_t low, high;

	if (!pass->cnt || line->last < addresses[0] || line->start > addresses[pass->cnt - 1])
		return;
	low = addresses_before(addresses, pass->cnt, line->start);
	if (addresses[low] > line->last)
		return;
	high = line->last == UINT64_MAX
		       ? pass->cnt
		       : low + addresses_before(addresses + low, pass->cnt - low, line->last + 1);
	for (low += pass->cnt, high += pass->cnt; low < high; low /= 2, high /= 2) {
		if (low & 1)
			pass->tree[low++] = offset + 1;
		if (high & 1)
			pass->tree[--high] = offset + 1;
	}
}

static void take_line(struct map_pass *pass, const char *text, size_t len, uint64_t offset)
{
	struct map_line line;

	pass->stats.lines++;
	if (parse_line(text, len, &line))
		note_line(pass, &line, offset);
	else
		pass->stats.bad_lines++;
}

/* Take the lines of @piece, which is at @offset in the file. Returns how much of it is done with:
 * all but an unfinished line at its end that may still become another. */
static size_t take_piece(struct map_pass *pass, const char *piece, size_t len, uint64_t offset)
{
	struct reader rd;

	reader_init(&rd, piece, len);
	while (!reader_done(&rd)) {
		size_t at = reader_offset(&rd), line_len;
		const char *line = reader_until(&rd, '\n', &line_len);
		bool is_finished = at + line_len < len;
		bool was_skipping = pass->is_skipping;

		if (!was_skipping && !is_finished && line_len < PERF_MAP_LINE_BYTES_MAX)
			return at;
		pass->is_skipping = !is_finished;
		if (!was_skipping)
			take_line(pass, line, line_len, offset + at);
	}
	return len;
}

/* Have @pass see every line. 0 or negative errno. */
static int read_lines(struct map_pass *pass, int fd, uint64_t deadline_ns)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	size_t have = 0; /* in piece already: the begin of a line */
	uint64_t offset = 0; /* of the piece */

	if (!piece)
		return -ENOMEM;
	for (;;) {
		bool is_late = deadline_ns && clock_monotonic_ns() >= deadline_ns;
		uint64_t allowed = is_late ? 0 : PERF_MAP_MAX_BYTES - offset - have;
		size_t room = PIECE_BYTES - have;
		ssize_t got;
		size_t used;

		/* One byte where nothing is allowed: is there more? */
		got = fs_read_at(fd, piece + have,
				 !allowed	  ? 1
				 : allowed < room ? (size_t)allowed
						  : room,
				 offset + have);
		pass->stats.is_cut = got > 0 && !allowed;
		if (got <= 0 || !allowed)
			return got < 0 ? (int)got : 0;
		have += (size_t)got;
		used = take_piece(pass, piece, have, offset);
		have -= used;
		offset += used;
		memmove(piece, piece + used, have);
	}
}

/* Where the last line that contains address @index begins, plus 1; 0: there is none. */
static uint64_t noted_line(const struct map_pass *pass, size_t index)
{
	uint64_t noted = 0;

	for (size_t node = pass->cnt + index; node; node /= 2)
		noted = pass->tree[node] > noted ? pass->tree[node] : noted;
	return noted;
}

/*
 * The name of the line at @offset, of which nothing is sure: the file may be another's by now, so
 * it must again be one that contains @address. 0 and *@out, STRTAB_NONE if it is not; negative
 * errno.
 */
static int name_of_line(int fd, uint64_t offset, uint64_t address, struct strtab *strings,
			uint32_t *out)
{
	char text[PERF_MAP_LINE_BYTES_MAX + 1], cut[PERF_MAP_NAME_BYTES_MAX + 1];
	ssize_t got = fs_read_at(fd, text, PERF_MAP_LINE_BYTES_MAX, offset);
	struct map_line line;
	struct reader rd;
	size_t len;

	if (got < 0)
		return (int)got;
	*out = STRTAB_NONE;
	text[got] = '\0';
	reader_init(&rd, text, (size_t)got);
	reader_until(&rd, '\n', &len);
	if (!parse_line(text, len, &line) || address < line.start || address > line.last)
		return 0;
	if (line.name_len > PERF_MAP_NAME_BYTES_MAX) {
		ledger_copy_name(cut, sizeof(cut), line.name);
		line.name = cut;
		line.name_len = strlen(cut);
	}
	*out = strtab_add(strings, line.name, line.name_len);
	return *out == STRTAB_NONE ? -ENOMEM : 0;
}

static int read_names(const struct map_pass *pass, int fd, struct strtab *strings, uint32_t *names)
{
	uint64_t last_noted = 0;

	for (size_t i = 0; i < pass->cnt; i++) {
		uint64_t noted = noted_line(pass, i);
		int err = 0;

		if (!noted)
			names[i] = STRTAB_NONE;
		else if (noted == last_noted)
			names[i] = names[i - 1];
		else
			err = name_of_line(fd, noted - 1, pass->addresses[i], strings, &names[i]);
		if (err)
			return err;
		last_noted = noted;
	}
	return 0;
}

int perf_map_read(int fd, const uint64_t *addresses, size_t cnt, uint64_t deadline_ns,
		  struct strtab *strings, uint32_t *names, struct perf_map_stats *out)
{
	_cleanup_free_ uint64_t *tree = calloc(cnt ? cnt : 1, 2 * sizeof(*tree));
	struct map_pass pass = {.addresses = addresses, .cnt = cnt, .tree = tree};
	int err;

	if (!tree)
		return -ENOMEM;
	err = read_lines(&pass, fd, deadline_ns);
	if (!err)
		err = read_names(&pass, fd, strings, names);
	if (!err)
		*out = pass.stats;
	return err;
}
