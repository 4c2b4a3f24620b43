# SPDX-License-Identifier: Apache-2.0
"""Layouts of two peers beside ours, filled with the same samples in the same server: one service's, whole.

What their tables consist of is stated in their sources; the statements here are written from that. A row is a stack of
a host and minute in all three, its value nanoseconds of CPU time, its labels host, service and version.

Parca (parca-dev/parca, pkg/clickhouse/schema.go and querier.go of 2026): one table, each row with its whole stack as
parallel arrays of what a location is, the first line of each; labels as JSON; sorted by type and time. Their merge is
grouped by all of these arrays.

Coroot (coroot/coroot, ch/client.go and clickhouse/queries.go of 2026): samples with the hash of their stack, sorted by
service, type and time, and stacks as arrays of names. Their question ends with LIMIT 5000, which is left out here: all
three are to give the same answer.
"""
import statistics

# Where our tables have what a peer keeps in each row, or in its dictionary.
STACK_TABLE = """CREATE TABLE stack_texts ENGINE = MergeTree ORDER BY stack AS
SELECT stack, groupArray(path) AS paths, groupArray(build_id) AS build_ids, groupArray(address) AS addresses,
    groupArray(name) AS names, groupArray(system_name) AS system_names, groupArray(file) AS files,
    groupArray(line) AS lines, groupArray(start_line) AS start_lines
FROM (SELECT stack, nr, path, build_id, address, names[1] AS name, system_names[1] AS system_name, files[1] AS file,
        toInt64(lines[1]) AS line, toInt64(start_lines[1]) AS start_line
    FROM (SELECT DISTINCT stack, frame, nr
        FROM (SELECT stack, arrayReverse(frames) AS leaf_first FROM fleet.stacks FINAL WHERE service = '{service}')
        ARRAY JOIN leaf_first AS frame, arrayEnumerate(leaf_first) AS nr) AS s
    ANY LEFT JOIN (SELECT * FROM fleet.frames FINAL) AS f USING (frame)
    ORDER BY stack, nr)
GROUP BY stack"""

# Our samples of the service, with what the peers want to know of them.
SAMPLES = """(SELECT stack, host, toString(service) AS service_name, toString(version) AS service_version,
    toInt64(toUInt32(h) + ts) AS second, n, v1 + n * unit AS value, concat('host-', toString(host)) AS host_name
    FROM fleet.samples FINAL WHERE service = '{service}')"""

PEERS = {
    "Parca": {
        "tables": {
            "parca": """CREATE TABLE parca (name String, sample_type String, sample_unit String, period_type String,
                period_unit String, period Int64, duration Int64, timestamp Int64, time_nanos Int64, value Int64,
                labels JSON, stacktrace Nested(address UInt64, mapping_start UInt64, mapping_limit UInt64,
                mapping_offset UInt64, mapping_file String, mapping_build_id String, line_number Int64,
                function_name String, function_system_name String, function_filename String, function_start_line Int64))
                ENGINE = MergeTree PARTITION BY toYYYYMMDD(fromUnixTimestamp64Nano(time_nanos))
                ORDER BY (name, sample_type, sample_unit, period_type, period_unit, timestamp, time_nanos)""",
        },
        "fill": ["""INSERT INTO parca SELECT 'bpfprof', 'cpu', 'nanoseconds', 'cpu', 'nanoseconds', 52631578,
            60000000000, second * 1000, second * 1000000000, value,
            CAST(toJSONString(map('host', host_name, 'service', service_name, 'version', service_version)) AS JSON),
            addresses, arrayMap(x -> 4194304, addresses), arrayMap(x -> 8388608, addresses),
            arrayMap(x -> 0, addresses), paths, build_ids, lines, names, system_names, files, start_lines
            FROM {samples} AS s ANY LEFT JOIN stack_texts AS t USING (stack)
            SETTINGS max_block_size = 8192, min_insert_block_size_rows = 65536, min_insert_block_size_bytes = 268435456"""],
        "question": """SELECT stacktrace.address, stacktrace.mapping_start, stacktrace.mapping_limit,
            stacktrace.mapping_offset, stacktrace.mapping_file, stacktrace.mapping_build_id, stacktrace.line_number,
            stacktrace.function_name, stacktrace.function_system_name, stacktrace.function_filename,
            stacktrace.function_start_line, sum(value) AS total FROM parca
            WHERE name = 'bpfprof' AND sample_type = 'cpu' AND sample_unit = 'nanoseconds' AND period_type = 'cpu'
                AND period_unit = 'nanoseconds' AND duration != 0 AND labels.service = '{service}'
                AND time_nanos >= {from_s} * 1000000000 AND time_nanos <= {to_s} * 1000000000
            GROUP BY stacktrace.address, stacktrace.mapping_start, stacktrace.mapping_limit, stacktrace.mapping_offset,
                stacktrace.mapping_file, stacktrace.mapping_build_id, stacktrace.line_number, stacktrace.function_name,
                stacktrace.function_system_name, stacktrace.function_filename, stacktrace.function_start_line""",
    },
    "Coroot": {
        "tables": {
            "profiling_samples": """CREATE TABLE profiling_samples (
                ServiceName LowCardinality(String) CODEC(ZSTD(1)), Type LowCardinality(String) CODEC(ZSTD(1)),
                Start DateTime64(9) CODEC(Delta, ZSTD(1)), End DateTime64(9) CODEC(Delta, ZSTD(1)),
                Labels Map(LowCardinality(String), String) CODEC(ZSTD(1)), StackHash UInt64 CODEC(ZSTD(1)),
                Value Int64 CODEC(ZSTD(1)))
                ENGINE = MergeTree PARTITION BY toDate(Start)
                ORDER BY (ServiceName, Type, toUnixTimestamp(Start), toUnixTimestamp(End))""",
            "profiling_stacks": """CREATE TABLE profiling_stacks (
                ServiceName LowCardinality(String) CODEC(ZSTD(1)), Hash UInt64 CODEC(ZSTD(1)),
                LastSeen DateTime64(9) CODEC(Delta, ZSTD(1)), Stack Array(String) CODEC(ZSTD(1)))
                ENGINE = ReplacingMergeTree PARTITION BY toDate(LastSeen) ORDER BY (ServiceName, Hash)""",
        },
        "fill": [
            """INSERT INTO profiling_samples SELECT service_name, 'cpu', fromUnixTimestamp64Nano(second * 1000000000),
                fromUnixTimestamp64Nano((second + 60) * 1000000000),
                map('host', host_name, 'version', service_version), stack, value FROM {samples} AS s""",
            """INSERT INTO profiling_stacks SELECT '{service}', stack, fromUnixTimestamp64Nano({to_s} * 1000000000),
                arrayReverse(names) FROM stack_texts""",
        ],
        "question": """SELECT StackHash, sum(Value) AS total FROM profiling_samples
            WHERE ServiceName IN ('{service}') AND Type = 'cpu' AND Start < toDateTime64({to_s}, 9)
                AND End > toDateTime64({from_s}, 9) GROUP BY StackHash HAVING total > 0""",
    },
}

# The same of ours: tables as `store init` makes them there, whose DDL the server tells.
OURS = {
    "tables": ["samples", "stacks", "frames"],
    "fill": {
        "samples": "SELECT * FROM fleet.samples FINAL WHERE service = '{service}'",
        "stacks": "SELECT * FROM fleet.stacks FINAL WHERE service = '{service}'",
        "frames": "SELECT * FROM fleet.frames FINAL WHERE frame IN (SELECT arrayJoin(frames) FROM ours.stacks)",
    },
    "question": """SELECT stack, sum(v1 + n * unit) AS total FROM samples FINAL WHERE service = '{service}'
        AND h >= toDateTime({from_s}, 'UTC') AND h < toDateTime({to_s}, 'UTC') GROUP BY stack""",
}


class Layout:
    """One of them in the engine, in a database of its own."""

    def __init__(self, name, engine, words):
        self.name, self.engine, self.words = name, engine, words
        self.database = "ours" if name == "bpfprof" else "peer_" + name.lower()

    def sql(self, text):
        words = {**self.words, "samples": SAMPLES.format(**self.words)}
        return self.engine.sql(text.format(**words), self.database)

    def fill(self):
        self.engine.sql(f"CREATE DATABASE {self.database}", "default")
        if self.name == "bpfprof":
            for table in OURS["tables"]:
                self.sql(f"CREATE TABLE {table} AS fleet.{table}")
                self.sql(f"INSERT INTO {table} " + OURS["fill"][table])
            return
        self.sql(STACK_TABLE)
        for ddl in PEERS[self.name]["tables"].values():
            self.sql(ddl)
        for text in PEERS[self.name]["fill"]:
            self.sql(text)
        self.sql("DROP TABLE stack_texts")

    def sizes(self):
        """(rows of samples, their bytes, the bytes of all tables), merged."""
        tables = OURS["tables"] if self.name == "bpfprof" else list(PEERS[self.name]["tables"])
        sizes = [self.engine.merge(table, self.database) for table in tables]
        return (*sizes[0], sum(size for _, size in sizes))

    def question(self):
        return (OURS if self.name == "bpfprof" else PEERS[self.name])["question"]

    def answer(self):
        """(stacks, sum) of the question's answer."""
        return self.sql("SELECT count(), sum(total) FROM (" + self.question() + ") AS q").split("\t")

    def ask_ms(self, rounds):
        """How long the engine took, and of CPU time, hot: medians; all of the answer is made, none is written out."""
        self.sql(self.question() + " FORMAT Null")
        mark = self.engine.mark()
        for _ in range(rounds):
            self.sql(self.question() + " FORMAT Null")
        queries = self.engine.queries_since(mark)
        return statistics.median(query[0] for query in queries), statistics.median(query[1] for query in queries)
