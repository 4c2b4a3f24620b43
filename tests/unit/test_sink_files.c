/* SPDX-License-Identifier: Apache-2.0 */
/* Windows taken apart, and as files: one for each service and kind, the same whenever it is sent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/fs.h"
#include "encode/decode.h"
#include "scratch.h"
#include "sink/objects.h"
#include "sink/pieces.h"
#include "sink_fixture.h"

struct place {
	char folder[64];
	struct sink_fixture fix;
	struct sink *sink;
};

static int set_up(void **state)
{
	static struct place place;
	const struct sink_opts opts = {.host_id = "host"};
	char url[96];
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	snprintf(place.folder, sizeof(place.folder), "/tmp/bpfprof-files-XXXXXX");
	assert_non_null(mkdtemp(place.folder));
	snprintf(url, sizeof(url), "file://%s/new/", place.folder);
	assert_int_equal(sink_open(url, &opts, &place.sink, &why), 0);
	fixture_init(&place.fix, "web", "../etc");
	buf_deinit(&why);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	sink_close(place->sink);
	fixture_deinit(&place->fix);
	remove_tree(place->folder);
	return 0;
}

static int send_one(struct place *place, const struct sink_window *window, struct buf *why)
{
	buf_reset(why);
	return place->sink->ops->send(place->sink, window, 1, why);
}

/* Append the file @name below the sink's folder. */
static void read_below(const struct place *place, const char *name, struct buf *out)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/new/%s", place->folder, name);
	assert_int_equal(fs_read_file(path, out), 0);
}

static const char *const names[] = {
	"web/cpu/20261125T010200Z-alpha-%s-17.pb.gz",
	"web/off-cpu/20261125T010200Z-alpha-%s-17.pb.gz",
	"%%2E.%%2Fetc/cpu/20261125T010200Z-alpha-%s-17.pb.gz",
	"%%2E.%%2Fetc/off-cpu/20261125T010200Z-alpha-%s-17.pb.gz",
};

static void name_of(size_t index, char out[static 128])
{
	char id[9];

	snprintf(id, sizeof(id), "%08x", (unsigned int)(hash_bytes("host", 4) >> 32));
	snprintf(out, 128, names[index], id);
}

static void test_files(void **state)
{
	static const int64_t sums[] = {6, 3000, 15, 12000};
	struct place *place = *state;
	struct buf first[4], second, why;
	struct profile prof;
	char name[128];

	buf_init(&why, BUF_NO_MAX);
	buf_init(&second, BUF_NO_MAX);
	assert_int_equal(send_one(place, &place->fix.window, &why), 0);
	for (size_t i = 0; i < 4; i++) {
		buf_init(&first[i], BUF_NO_MAX);
		name_of(i, name);
		read_below(place, name, &first[i]);
		profile_init(&prof);
		assert_int_equal(pprof_decode(first[i].data, first[i].len, &prof, &why), 0);
		assert_int_equal(profile_total(&prof, 0), sums[i]);
		assert_int_equal(prof.time_ns, SINK_START_NS);
		assert_int_equal(prof.duration_ns, 60 * NSEC_PER_SEC);
		assert_int_equal(prof.period, i % 2 ? 0 : SINK_PERIOD_NS);
		assert_int_equal(prof.sample_cnt, 3);
		assert_string_equal(sink_label_str(&prof, prof.samples[0].label_set, "service"),
				    i < 2 ? "web" : "../etc");
		profile_deinit(&prof);
	}
	/* Again: the same. */
	assert_int_equal(send_one(place, &place->fix.window, &why), 0);
	for (size_t i = 0; i < 4; i++) {
		buf_reset(&second);
		name_of(i, name);
		read_below(place, name, &second);
		assert_int_equal(second.len, first[i].len);
		assert_memory_equal(second.data, first[i].data, second.len);
		buf_deinit(&first[i]);
	}
	assert_int_equal(place->sink->counts.windows, 2);
	assert_int_equal(place->sink->counts.rows, 2 * 12);
	buf_deinit(&second);
	buf_deinit(&why);
}

static void test_other_types_of_a_kind(void **state)
{
	struct place *place = *state;
	struct buf why, data;
	char name[128];

	buf_init(&why, BUF_NO_MAX);
	buf_init(&data, BUF_NO_MAX);
	place->fix.batches[1].kind = "cpu";
	assert_int_equal(send_one(place, &place->fix.window, &why), 0);
	name_of(0, name);
	read_below(place, name, &data);
	snprintf(strstr(name, ".pb.gz"), 16, ".1.pb.gz");
	read_below(place, name, &data);
	buf_deinit(&data);
	buf_deinit(&why);
}

static void test_lost(void **state)
{
	struct place *place = *state;
	const struct sink_window lost = fixture_lost(20);
	struct buf why, data;
	char name[128];

	buf_init(&why, BUF_NO_MAX);
	buf_init(&data, BUF_NO_MAX);
	assert_int_equal(send_one(place, &lost, &why), 0);
	snprintf(name, sizeof(name), "(lost)/20261125T010200Z-%08x-20.json",
		 (unsigned int)(hash_bytes("host", 4) >> 32));
	read_below(place, name, &data);
	assert_string_equal(buf_cstr(&data),
			    "{\"start_ns\":1795568520000000000,\"end_ns\":1795568580000000000,"
			    "\"windows\":3,\"samples\":99,\"reason\":\"bytes\"}\n");
	buf_deinit(&data);
	buf_deinit(&why);
}

/* Where others have put links and folders: nothing is followed, and it is said. */
static void test_places_of_others(void **state)
{
	struct place *place = *state;
	char dir[96], path[256], name[128];
	struct stat st;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	snprintf(dir, sizeof(dir), "%s/new", place->folder);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(path, sizeof(path), "%s/web", dir);
	assert_int_equal(symlink(place->folder, path), 0);
	assert_int_equal(send_one(place, &place->fix.window, &why), -ENOTDIR);
	assert_non_null(strstr(buf_cstr(&why), "/new: web/cpu: Not a directory"));
	snprintf(path, sizeof(path), "%s/cpu", place->folder);
	assert_int_equal(lstat(path, &st), -1);

	snprintf(path, sizeof(path), "%s/web", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(send_one(place, &place->fix.window, &why), 0);
	name_of(0, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(send_one(place, &place->fix.window, &why), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(send_one(place, &place->fix.window, &why), -EEXIST);
	buf_deinit(&why);
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *wanted;
	} cases[] = {
		{"web", "web"},		  {"", "(none)"},
		{"..", "%2E."},		  {".", "%2E"},
		{"a/b", "a%2Fb"},	  {"(none)", "%28none%29"},
		{"a%2Fb", "a%252Fb"},	  {"\xff\n ~", "%FF%0A%20%7E"},
		{"v1.2_3-x", "v1.2_3-x"},
	};
	char name[400];
	struct buf out, other;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&other, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_reset(&out);
		sink_add_plain(&out, cases[i].name);
		assert_string_equal(buf_cstr(&out), cases[i].wanted);
	}
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	buf_reset(&out);
	sink_add_plain(&out, name);
	name[sizeof(name) - 2] = 'b';
	sink_add_plain(&other, name);
	assert_int_equal(out.len, 120);
	assert_int_equal(other.len, 120);
	assert_string_not_equal(buf_cstr(&out), buf_cstr(&other));
	buf_deinit(&out);
	buf_deinit(&other);
}

static void test_urls(void **state)
{
	static const char *const wrong[] = {"file:", "file:a", "file://host/a", "file:////a"};
	struct buf out, why;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(sink_name(wrong[i], &out, &why), -EINVAL);
	assert_int_equal(sink_name("file:///a/b//", &out, &why), 0);
	assert_int_equal(sink_name("file:/", &out, &why), 0);
	assert_string_equal(buf_cstr(&out), "file:/a/bfile:/");
	buf_deinit(&out);
	buf_deinit(&why);
}

static void test_pieces(void **state)
{
	struct place *place = *state;
	struct sink_pieces pieces;
	struct sink_piece half;
	struct profile prof;
	struct buf out;

	assert_int_equal(sink_pieces_init(&pieces, &place->fix.window, sink_label_is_series, 2), 0);
	/* Two batches of two services of three rows, each two at most. */
	assert_int_equal(pieces.cnt, 8);
	assert_int_equal(pieces.items[1].row_cnt, 1);
	assert_int_equal(pieces.items[2].row_cnt, 2);
	assert_int_equal(pieces.items[2].place, 3);
	assert_int_equal(pieces.items[7].place, 11);
	assert_string_equal(
		sink_label_str(pieces.window.dict, pieces.items[2].label_set, "service"), "../etc");
	assert_int_equal(sink_piece_profile(&pieces.window, &pieces.items[2], sink_label_is_service,
					    &prof),
			 0);
	assert_int_equal(prof.sample_cnt, 2);
	assert_int_equal(prof.label_sets[prof.samples[0].label_set].cnt, 1);
	assert_int_equal(profile_total(&prof, 0), 4 + 5);
	profile_deinit(&prof);
	sink_piece_halve(&pieces.items[2], &half);
	assert_int_equal(half.row_cnt, 1);
	assert_int_equal(half.place, 3);
	assert_int_equal(pieces.items[2].row_cnt, 1);
	assert_int_equal(pieces.items[2].place, 4);
	assert_int_equal(*half.rows + 1, *pieces.items[2].rows);
	sink_pieces_deinit(&pieces);

	buf_init(&out, BUF_NO_MAX);
	sink_add_name(&out, "app.kubernetes.io/tier");
	sink_add_name(&out, "9[`@{Z");
	assert_string_equal(buf_cstr(&out), "app_kubernetes_io_tier_9____Z");
	buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_types_of_a_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_of_others, set_up, tear_down),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_urls),
		cmocka_unit_test_setup_teardown(test_pieces, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
