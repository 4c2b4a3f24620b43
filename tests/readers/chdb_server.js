// SPDX-License-Identifier: Apache-2.0
// chdb_server.js FOLDER [LOG]: today's ClickHouse as a server of the one kind that we ask
//
// The engine is the npm package chdb's, in this process, with its data in FOLDER; its HTTP interface is here: a query in
// the body, or in the URL with rows to insert in the body, which may be gzip, or with a form that has a table of numbers;
// errors with a status and a text. Prints its port. Rows are read from files, as there is no other way in. LOG gets a line
// for each query: how many milliseconds the engine took, how many of CPU time in all of its threads, and the SQL, with tabs
// between.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const zlib = require("zlib");
const { Session } = require("chdb");

const [folder, log] = process.argv.slice(2);
const session = new Session(path.join(folder, "data"));
let uploads = 0;

async function run(sql) {
    const begin = performance.now();
    const before = process.cpuUsage();
    const result = await session.queryAsync(sql, { format: "TabSeparated" });
    const bytes = Buffer.from(result.bytes());
    if (log) {
        const took = (performance.now() - begin).toFixed(3);
        const spent = process.cpuUsage(before);
        fs.appendFileSync(log, `${took}\t${(spent.user + spent.system) / 1000}\t${sql.replace(/\s+/g, " ")}\n`);
    }
    return bytes;
}

// What is done with a file that has the bytes.
async function withFile(bytes, use) {
    const file = path.join(folder, `rows-${uploads++}`);
    fs.writeFileSync(file, bytes);
    try {
        return await use(file);
    } finally {
        fs.unlinkSync(file);
    }
}

// INSERT INTO t (columns) FORMAT Native: rows from a file.
async function insert(sql, rows) {
    const match = /^(INSERT INTO \S+ (\(.*\))) FORMAT Native$/.exec(sql);
    if (!match)
        throw new Error("Code: 62. DB::Exception: only Native rows are taken here");
    return withFile(rows, (file) =>
        run(`${match[1]} SELECT ${match[2].slice(1, -1)} FROM file('${file}', 'Native')`));
}

// SELECT ... IN ids: a table of numbers, the one part of a form.
async function queryIds(sql, form) {
    const begin = form.indexOf("\r\n\r\n") + 4;
    const end = form.lastIndexOf("\r\n--");
    return withFile(form.subarray(begin, end), (file) =>
        run(sql.replaceAll(" IN ids", ` IN (SELECT id FROM file('${file}', 'RowBinary', 'id UInt64'))`)));
}

async function answer(request, body) {
    const url = new URL(request.url, "http://localhost");
    const database = url.searchParams.get("database");
    const sql = url.searchParams.get("query");
    if (request.headers["content-encoding"] === "gzip")
        body = zlib.gunzipSync(body);
    if (database)
        await run(`USE \`${database}\``);
    if (!sql)
        return run(body.toString());
    const isForm = (request.headers["content-type"] || "").startsWith("multipart/form-data");
    return isForm ? queryIds(sql, body) : insert(sql, body);
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
