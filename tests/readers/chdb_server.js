// SPDX-License-Identifier: Apache-2.0
// chdb_server.js FOLDER: today's ClickHouse as a server of the one kind that we ask
//
// The engine is the npm package chdb's, in this process, with its data in FOLDER; its HTTP interface is here: a query in
// the body, or an insert in the URL with rows in the body, which may be gzip; errors with a status and a text. Prints its
// port. Native rows are read from a file, as there is no other way in.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const zlib = require("zlib");
const { Session } = require("chdb");

const folder = process.argv[2];
const session = new Session(path.join(folder, "data"));
let uploads = 0;

async function run(sql) {
    const result = await session.queryAsync(sql, { format: "TabSeparated" });
    return Buffer.from(result.bytes());
}

// INSERT INTO t (columns) FORMAT Native: rows from a file.
async function insert(sql, rows) {
    const match = /^(INSERT INTO \S+ (\(.*\))) FORMAT Native$/.exec(sql);
    if (!match)
        throw new Error("Code: 62. DB::Exception: only Native rows are taken here");
    const file = path.join(folder, `rows-${uploads++}`);
    fs.writeFileSync(file, rows);
    try {
        return await run(`${match[1]} SELECT ${match[2].slice(1, -1)} FROM file('${file}', 'Native')`);
    } finally {
        fs.unlinkSync(file);
    }
}

async function answer(request, body) {
    const url = new URL(request.url, "http://localhost");
    const database = url.searchParams.get("database");
    const sql = url.searchParams.get("query");
    if (request.headers["content-encoding"] === "gzip")
        body = zlib.gunzipSync(body);
    if (database)
        await run(`USE \`${database}\``);
    return sql ? insert(sql, body) : run(body.toString());
}

// The engine has one session: one request after another.
let last = Promise.resolve();

const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
        last = last.then(async () => {
            try {
                const bytes = await answer(request, Buffer.concat(parts));
                response.writeHead(200);
                response.end(bytes);
            } catch (error) {
                response.writeHead(/Code: (60|81)\b/.test(error.message) ? 404 : 500);
                response.end(error.message);
            }
        });
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
