/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/sink.h"

#include <errno.h>

#include "sink/clickhouse.h"
#include "sink/files.h"
#include "sink/otlp.h"
#include "sink/pyroscope.h"
#include "sink/relay.h"
#include "sink/s3.h"

static const struct sink_ops *const kinds[] = {
	&clickhouse_sink, &relay_sink, &files_sink, &s3_sink, &pyroscope_sink, &otlp_sink,
};

static const struct sink_ops *find(const char *url, struct buf *why)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i]->is_url(url))
			return kinds[i];
	buf_add_str(why, "not the URL of a sink (wanted: clickhouse://HOST/DATABASE, "
			 "relay+http://HOST, file:/DIR, s3://BUCKET/PREFIX, pyroscope+http://HOST "
			 "or otlp+http://HOST)");
	return NULL;
}

int sink_open(const char *url, const struct sink_opts *opts, struct sink **out, struct buf *why)
{
	const struct sink_ops *ops = find(url, why);
	struct sink *sink;
	int err = ops ? ops->open(url, opts, &sink, why) : -EINVAL;

	if (err)
		return err;
	sink->ops = ops;
	*out = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (sink)
		sink->ops->close(sink);
}

int sink_name(const char *url, struct buf *out, struct buf *why)
{
	const struct sink_ops *ops = find(url, why);

	return ops ? ops->name(url, out, why) : -EINVAL;
}
