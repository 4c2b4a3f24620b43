/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger has of a range, asked for meanwhile: it takes a server as long as the sums do,
 * and neither needs the other. The thread has a connection of its own, and touches nothing else
 * that the fleet has.
 */
#include <errno.h>
#include <string.h>

#include "fleet/fleet_priv.h"

static void ask_all(void *arg)
{
	struct fleet_books *books = arg;
	bool is_good;
	int err = fleet_rolled_confirm(books->rolled, &books->ask, &is_good);

	if (!err && !is_good)
		err = -ENOTSUP;
	if (!err)
		err = fleet_coverage(&books->ask, &books->coverage);
	if (!err && books->has_ledger)
		err = fleet_ledgers(&books->ask, &books->coverage, &books->ledger);
	books->err = err;
}

void fleet_books_begin(struct fleet_books *books, const struct fleet_ask *ask,
		       const struct fleet_rolled *rolled, bool has_ledger)
{
	struct fleet *beside = fleet_beside(ask->fleet);

	*books = (struct fleet_books){
		.fleet = ask->fleet,
		.rolled = rolled,
		.has_ledger = has_ledger,
		.task = {.work = ask_all, .arg = books},
	};
	ledger_init(&books->ledger);
	fleet_ask_range(&books->ask, beside ? beside : ask->fleet, ask->from_ns, ask->to_ns);
	if (beside)
		task_begin(&books->task, ask_all, books);
}

int fleet_books_end(struct fleet_books *books, struct store_coverage *coverage,
		    struct ledger *ledger)
{
	struct fleet *fleet = books->fleet;

	task_end(&books->task);
	if (books->err && books->err != -ENOTSUP)
		fleet_take_why(fleet, books->ask.fleet, books->err);
	if (books->err)
		return books->err;
	*coverage = books->coverage;
	if (books->has_ledger) {
		*ledger = books->ledger;
		ledger_init(&books->ledger);
	}
	return 0;
}

void fleet_books_deinit(struct fleet_books *books)
{
	if (books->task.is_running)
		task_end(&books->task);
	fleet_ask_deinit(&books->ask);
	ledger_deinit(&books->ledger);
}
