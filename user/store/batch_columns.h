/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as it is stored, all of uleb128 numbers, zigzag where they may be negative:
 *
 *	BATCH_LABEL_SETS_IN_TABLE
 *	number of columns, number of rows
 *	each row's stack, as the difference to the row before
 *	number of label sets, each as the difference to the one before, upwards
 *	each row's label set, as the difference of its place among them to that of the row before
 *	each column: its form, then what the form says
 *
 * Before schema version 3 it began with the number of columns, and each row's label set stood there
 * itself, as the difference to that of the row before.
 */
#ifndef BPFPROF_STORE_BATCH_COLUMNS_H
#define BPFPROF_STORE_BATCH_COLUMNS_H

enum { BATCH_LABEL_SETS_IN_TABLE = 0 /* no batch has as few columns */ };

enum batch_column_form {
	COLUMN_ZERO,
	COLUMN_PLAIN, /* each row's value */
	COLUMN_MULTIPLE, /* which column, before this one; the factor */
	/* Which column, before this one; a factor; of each label set by how much its sum is more
	 * than that of the other column times the factor. batch_share_split() says the rest. */
	COLUMN_SHARES,
};

#endif
