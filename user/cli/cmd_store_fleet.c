/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_store_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse_time.h"
#include "cli/cli.h"
#include "cli/store_arg.h"
#include "clickhouse/fleet_drop.h"
#include "clickhouse/fleet_fsck.h"
#include "clickhouse/rollup.h"
#include "clickhouse/schema.h"
#include "store/shipper.h"

enum { WAITS_MAX = 10 /* of one shipping */, BACKOFFS_MAX = 5 /* in a row, of 15 s in all */ };

#define WAIT_MAX_NS (60 * NSEC_PER_SEC)

static void close_client(struct ch_client **client)
{
	ch_client_close(*client);
}

/* *@out is owned. 0 or negative errno after log_error(). */
static int open_client(const char *url, struct ch_client **out)
{
	const char *why = NULL;
	int err = ch_client_open(url, NULL, out, &why);

	if (err == -ENOSYS)
		log_error("store: no HTTP client: %s", http_missing());
	else if (err == -EINVAL)
		log_error("store: the URL of the fleet store: %s (wanted: "
			  "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE)",
			  why);
	else if (err)
		log_error("store: %s", strerror(-err));
	return err;
}

static int tell_init_error(const struct ch_client *client, const struct fleet_init *init, int err)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (err == -EPROTONOSUPPORT)
		buf_printf(&why, "the server is of release %u.%u: 18.16 or a later one is needed",
			   init->server_version / 1000, init->server_version % 1000);
	else if (err == -EPROTO && init->version_before)
		buf_printf(&why,
			   "its tables are of version %u, and this program makes version %u: a "
			   "newer bpfprof is needed",
			   init->version_before, FLEET_SCHEMA_VERSION);
	else if (err == -EEXIST && *init->cluster)
		buf_printf(&why, "its tables are there already, of cluster '%s'", init->cluster);
	else if (err == -EEXIST)
		buf_add_str(&why, "its tables are there already, of a single server: a cluster "
				  "takes another database");
	else
		ch_client_explain(client, &why);
	log_error("store '%s': %s", ch_client_name(client), buf_cstr(&why));
	return CLI_FAILED;
}

static void tell_init(const struct ch_client *client, const struct fleet_init *init)
{
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	if (init->tables_made || init->version_before != FLEET_SCHEMA_VERSION)
		buf_printf(&line, ": %s%u tables made, of version %u, by ClickHouse %u.%u%s",
			   init->database_made ? "the database and " : "", init->tables_made,
			   FLEET_SCHEMA_VERSION, init->server_version / 1000,
			   init->server_version % 1000,
			   init->has_codecs ? ""
					    : " (without codecs: let the server compress by zstd)");
	else
		buf_printf(&line, " is of version %u: nothing is to be done", init->version_before);
	if (*init->cluster)
		buf_printf(&line, ", on cluster '%s' with %u replica%s of each shard",
			   init->cluster, init->replicas, init->replicas == 1 ? "" : "s");
	log_info("store '%s'%s", ch_client_name(client), buf_cstr(&line));
}

int fleet_init_run(const char *url, const char *cluster)
{
	_cleanup_(close_client) struct ch_client *client = NULL;
	struct fleet_init init = {0};
	int err = open_client(url, &client);

	if (err)
		return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
	err = fleet_schema_init(client, cluster, &init);
	if (err)
		return tell_init_error(client, &init, err);
	tell_init(client, &init);
	return CLI_OK;
}

/* @text of @option as a time into *@out, which stays where there is none. */
static int take_time(const char *option, const char *text, uint64_t now_ns, uint64_t *out)
{
	if (!text || !parse_time_ns(text, now_ns, out))
		return 0;
	log_error("option '%s': '%s' is no time (wanted: " PARSE_TIME_FORMS ")", option, text);
	return -EINVAL;
}

static int tell_fsck(const char *name, const struct fleet_fsck *result, const struct buf *findings)
{
	_cleanup_(buf_deinit) struct buf line;
	int status = cli_print(findings);

	buf_init(&line, BUF_NO_MAX);
	buf_printf(&line,
		   "%" PRIu64 " days, %" PRIu64 " hosts, %" PRIu64 " windows, %" PRIu64
		   " batches, %" PRIu64 " rows, %" PRIu64 " samples",
		   result->days, result->hosts, result->windows, result->batches, result->rows,
		   result->samples);
	if (result->tombstones)
		buf_printf(&line,
			   "; %" PRIu64 " tombstones of %" PRIu64 " lost windows with %" PRIu64
			   " samples",
			   result->tombstones, result->lost_windows, result->lost_samples);
	if (result->rolled)
		buf_printf(&line, "; %" PRIu64 " hours and days rolled up", result->rolled);
	if (result->findings) {
		log_error("store '%s': %" PRIu64 " finding%s in %s", name, result->findings,
			  result->findings == 1 ? "" : "s", buf_cstr(&line));
		return CLI_FAILED;
	}
	log_info("store '%s' is whole: %s", name, buf_cstr(&line));
	return status;
}

int fleet_on_days(const char *url, const char *since, const char *until, fleet_days_fn *fn,
		  void *arg)
{
	_cleanup_(close_client) struct ch_client *client = NULL;
	_cleanup_(buf_deinit) struct buf why;
	const uint64_t now_ns = clock_realtime_ns();
	uint64_t from_ns = 0, to_ns = UINT64_MAX;
	int status = CLI_FAILED, err;

	buf_init(&why, BUF_NO_MAX);
	if (take_time("--since", since, now_ns, &from_ns) ||
	    take_time("--until", until, now_ns, &to_ns))
		return CLI_USAGE;
	err = open_client(url, &client);
	if (err)
		return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
	err = fleet_schema_check(client, &why);
	if (!err) {
		err = fn(client, from_ns, to_ns, arg, &status);
		if (!err)
			return status;
		ch_client_explain(client, &why);
	}
	log_error("store '%s': %s", ch_client_name(client), buf_cstr(&why));
	return CLI_FAILED;
}

int fleet_drop_run(const char *url, uint64_t retain_ns)
{
	_cleanup_(close_client) struct ch_client *client = NULL;
	_cleanup_(buf_deinit) struct buf why;
	const uint64_t now_ns = clock_realtime_ns();
	struct fleet_drop dropped = {.partitions = 0};
	int err = open_client(url, &client);

	buf_init(&why, BUF_NO_MAX);
	if (err)
		return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
	err = fleet_schema_check(client, &why);
	if (!err) {
		err = fleet_drop(client, now_ns > retain_ns ? now_ns - retain_ns : 0, &dropped);
		if (err)
			ch_client_explain(client, &why);
	}
	if (!err || dropped.partitions)
		log_info("store '%s': %" PRIu64 " days dropped, as %" PRIu64
			 " partitions of its tables",
			 ch_client_name(client), dropped.days, dropped.partitions);
	if (err)
		log_error("store '%s': %s", ch_client_name(client), buf_cstr(&why));
	return err ? CLI_FAILED : CLI_OK;
}

static int check_days(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, void *arg,
		      int *status)
{
	_cleanup_(buf_deinit) struct buf findings;
	struct fleet_fsck result;
	int err;

	buf_init(&findings, BUF_NO_MAX);
	err = fleet_fsck(client, from_ns, to_ns, &result, &findings);
	if (!err)
		*status = tell_fsck(ch_client_name(client), &result, &findings);
	return err;
}

int fleet_fsck_run(const char *url, const char *since, const char *until)
{
	return fleet_on_days(url, since, until, check_days, NULL);
}

static int roll_up_days(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, void *arg,
			int *status)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct rollup_result result;
	int err;

	buf_init(&lines, BUF_NO_MAX);
	err = rollup_run(client, from_ns, to_ns, clock_realtime_ns(), &result, &lines);
	if (err)
		return err;
	*status = cli_print(&lines);
	log_info("store '%s': %" PRIu64 " hours and %" PRIu64 " days rolled up into %" PRIu64
		 " rows; %" PRIu64 " and %" PRIu64 " were good; %" PRIu64 " got trees",
		 ch_client_name(client), result.hours_made, result.days_made, result.rows,
		 result.hours_good, result.days_good, result.trees);
	if (result.left) {
		log_warn("store '%s': %" PRIu64 " could not be, and are read from samples",
			 ch_client_name(client), result.left);
		*status = CLI_FAILED;
	}
	return 0;
}

int fleet_rollup_run(const char *url, const char *since, const char *until)
{
	return fleet_on_days(url, since, until, roll_up_days, NULL);
}

static void close_store(struct store **store)
{
	store_close(*store);
}

static void close_shipper(struct shipper **shipper)
{
	shipper_close(*shipper);
}

/* The sink cannot take anything now, for the @failures-th time in a row: leave it alone for as long
 * as it asks for, where that is not long, or longer each time. */
static bool wait_for_sink(const struct shipper *shipper, uint32_t failures)
{
	const uint64_t asked_ns = shipper_status(shipper)->retry_after_ns;
	const uint64_t wait_ns = asked_ns ? asked_ns : shipper_backoff_ns(failures);
	struct timespec left = {.tv_sec = (time_t)(wait_ns / NSEC_PER_SEC),
				.tv_nsec = (long)(wait_ns % NSEC_PER_SEC)};

	if (wait_ns > WAIT_MAX_NS || (!asked_ns && failures > BACKOFFS_MAX))
		return false;
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return true;
}

/* A refusal is followed by another attempt, which finds out which window it is about. */
static int ship_all(struct shipper *shipper, struct buf *why)
{
	uint32_t refusals = 0, waits = 0, failures = 0;
	bool goes_on;
	int err;

	do {
		buf_reset(why);
		err = shipper_step(shipper, true, why);
		refusals = err == -EINVAL ? refusals + 1 : 0;
		failures = err == -EAGAIN ? failures + 1 : 0;
		goes_on =
			err > 0 || (err == -EINVAL && refusals < 3) ||
			(err == -EAGAIN && waits++ < WAITS_MAX && wait_for_sink(shipper, failures));
	} while (goes_on);
	return err;
}

int fleet_ship_run(const char *path, const char *url)
{
	const struct shipper_opts opts = {.url = url};
	_cleanup_(close_store) struct store *store = NULL;
	_cleanup_(close_shipper) struct shipper *shipper = NULL;
	_cleanup_(buf_deinit) struct buf why;
	const struct shipper_status *status;
	int err = store_arg_open_to_ship(path, &store);

	buf_init(&why, BUF_NO_MAX);
	if (err)
		return CLI_FAILED;
	err = shipper_open(store, &opts, &shipper, &why);
	if (err) {
		log_error("sink: %s", buf_cstr(&why));
		return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	err = ship_all(shipper, &why);
	status = shipper_status(shipper);
	log_info("sink '%s': %" PRIu64 " windows with %" PRIu64 " samples shipped as %" PRIu64
		 " rows, %" PRIu64 " dictionary rows, %" PRIu64 " bytes",
		 shipper_name(shipper), status->windows, status->samples, status->rows,
		 status->dict_rows, status->sent_bytes);
	if (status->rejected)
		log_warn("sink '%s': it threw %" PRIu64 " profiles away, and took the others",
			 shipper_name(shipper), status->rejected);
	if (status->tombstones || status->quarantined)
		log_warn("sink '%s': %" PRIu64 " windows are lost, %" PRIu64
			 " of them refused or damaged: %s",
			 shipper_name(shipper), status->tombstones, status->quarantined,
			 shipper_lost_told(shipper));
	if (err)
		log_error("sink '%s': %s; what it has not got yet stays in the store",
			  shipper_name(shipper), buf_cstr(&why));
	return err ? CLI_FAILED : CLI_OK;
}
