/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_stats FILE [MIN_RECORDED]: do the books in a --stats file balance?
 *
 * An independent reading of the ledger's definition, sharing no code with the program it checks:
 *
 *	ran = recorded + sum(lost) + filtered			for each CPU and in sum
 *	ticks - ran = never_ran.busy + never_ran.idle		for each CPU and in sum
 *	sum = the CPUs' rows added up				for each count and each reason
 *	sum(lost) = 0
 *	ran = kernel_runs					where the kernel has counted
 *
 * and each event recorded at least MIN_RECORDED samples (default 1): empty books always balance.
 * Says each breach on a line of its own on stdout. Exit 0, 1 on a breach, 2 when FILE is no such
 * file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 16 << 20 };

/* Doubles hold every integer up to here; a count beyond it could not be checked to the unit. */
static const double exact_max = 9007199254740992.0;

struct checker {
	const char *event; /* borrowed from the parsed file */
	int breaches;
	bool is_malformed;
};

struct row {
	int64_t ticks, ran, filtered, recorded, lost, busy, idle;
};

static void breach(struct checker *checker, const char *where, const char *what, int64_t left,
		   int64_t right)
{
	printf("# %s, %s: %s: %" PRId64 " != %" PRId64 "\n", checker->event, where, what, left,
	       right);
	checker->breaches++;
}

static void expect_equal(struct checker *checker, const char *where, const char *what, int64_t left,
			 int64_t right)
{
	if (left != right)
		breach(checker, where, what, left, right);
}

static int64_t count_of(struct checker *checker, const cJSON *number, const char *key)
{
	double value = cJSON_IsNumber(number) ? cJSON_GetNumberValue(number) : -1;

	if (value >= 0 && value <= exact_max && floor(value) == value)
		return (int64_t)value;
	printf("# %s: '%s' is missing or not a count\n", checker->event, key);
	checker->is_malformed = true;
	return 0;
}

static int64_t count_in(struct checker *checker, const cJSON *object, const char *key)
{
	return count_of(checker, cJSON_GetObjectItemCaseSensitive(object, key), key);
}

static int64_t lost_in_all(struct checker *checker, const cJSON *json)
{
	const cJSON *lost = cJSON_GetObjectItemCaseSensitive(json, "lost"), *reason;
	int64_t sum = 0;

	if (!cJSON_IsObject(lost))
		count_of(checker, NULL, "lost");
	cJSON_ArrayForEach(reason, lost) sum += count_of(checker, reason, reason->string);
	return sum;
}

static struct row read_row(struct checker *checker, const cJSON *json)
{
	const cJSON *never_ran = cJSON_GetObjectItemCaseSensitive(json, "never_ran");

	return (struct row){
		.ticks = count_in(checker, json, "ticks"),
		.ran = count_in(checker, json, "ran"),
		.filtered = count_in(checker, json, "filtered"),
		.recorded = count_in(checker, json, "recorded"),
		.lost = lost_in_all(checker, json),
		.busy = count_in(checker, never_ran, "busy"),
		.idle = count_in(checker, never_ran, "idle"),
	};
}

static void check_row(struct checker *checker, const struct row *row, const char *where)
{
	expect_equal(checker, where, "ran = recorded + lost + filtered", row->ran,
		     row->recorded + row->lost + row->filtered);
	expect_equal(checker, where, "ticks - ran = never_ran", row->ticks - row->ran,
		     row->busy + row->idle);
	expect_equal(checker, where, "lost = 0", row->lost, 0);
}

static struct row add_rows(const struct row *left, const struct row *right)
{
	return (struct row){
		.ticks = left->ticks + right->ticks,
		.ran = left->ran + right->ran,
		.filtered = left->filtered + right->filtered,
		.recorded = left->recorded + right->recorded,
		.lost = left->lost + right->lost,
		.busy = left->busy + right->busy,
		.idle = left->idle + right->idle,
	};
}

static void check_sum(struct checker *checker, const struct row *total, const struct row *cpus)
{
	static const char where[] = "all CPUs";

	expect_equal(checker, where, "ticks = sum of the CPUs", total->ticks, cpus->ticks);
	expect_equal(checker, where, "ran = sum of the CPUs", total->ran, cpus->ran);
	expect_equal(checker, where, "filtered = sum of the CPUs", total->filtered, cpus->filtered);
	expect_equal(checker, where, "recorded = sum of the CPUs", total->recorded, cpus->recorded);
	expect_equal(checker, where, "lost = sum of the CPUs", total->lost, cpus->lost);
	expect_equal(checker, where, "never_ran.busy = sum of the CPUs", total->busy, cpus->busy);
	expect_equal(checker, where, "never_ran.idle = sum of the CPUs", total->idle, cpus->idle);
}

static void check_event(struct checker *checker, const cJSON *event, int64_t min_recorded)
{
	const cJSON *per_cpu = cJSON_GetObjectItemCaseSensitive(event, "per_cpu"), *cpu;
	int64_t kernel_runs = 0;
	struct row total, cpus = {0};

	checker->event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));
	if (!checker->event)
		checker->event = "(event without a name)";
	total = read_row(checker, event);
	check_row(checker, &total, "all CPUs");
	cJSON_ArrayForEach(cpu, per_cpu)
	{
		struct row row = read_row(checker, cpu);
		char where[32];

		snprintf(where, sizeof(where), "CPU %" PRId64, count_in(checker, cpu, "cpu"));
		check_row(checker, &row, where);
		cpus = add_rows(&cpus, &row);
	}
	check_sum(checker, &total, &cpus);
	if (cJSON_HasObjectItem(event, "kernel_runs"))
		kernel_runs = count_in(checker, event, "kernel_runs");
	if (kernel_runs)
		expect_equal(checker, "all CPUs", "ran = kernel_runs", total.ran, kernel_runs);
	if (total.recorded < min_recorded)
		breach(checker, "all CPUs", "too few recorded", total.recorded, min_recorded);
	printf("# %s: ticks %" PRId64 ", ran %" PRId64 " (kernel: %" PRId64 "), recorded %" PRId64
	       ", filtered %" PRId64 ", never ran %" PRId64 " busy + %" PRId64 " idle\n",
	       checker->event, total.ticks, total.ran, kernel_runs, total.recorded, total.filtered,
	       total.busy, total.idle);
}

/* Owned; NULL when @path is not a JSON text. */
static cJSON *read_json(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(FILE_BYTES_MAX);
	cJSON *json = NULL;

	if (file && text)
		json = cJSON_ParseWithLength(text, fread(text, 1, FILE_BYTES_MAX, file));
	free(text);
	if (file)
		fclose(file);
	return json;
}

int main(int argc, char **argv)
{
	struct checker checker = {.event = "file"};
	int64_t min_recorded = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
	const cJSON *events, *event;
	cJSON *json;

	if (argc < 2) {
		fprintf(stderr, "usage: check_stats FILE [MIN_RECORDED]\n");
		return 2;
	}
	json = read_json(argv[1]);
	events = cJSON_GetObjectItemCaseSensitive(json, "events");
	if (cJSON_GetArraySize(events) < 1) {
		printf("# %s: no JSON with events\n", argv[1]);
		cJSON_Delete(json);
		return 2;
	}
	cJSON_ArrayForEach(event, events) check_event(&checker, event, min_recorded);
	cJSON_Delete(json);
	if (checker.is_malformed)
		return 2;
	return checker.breaches ? 1 : 0;
}
