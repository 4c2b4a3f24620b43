/* SPDX-License-Identifier: Apache-2.0 */
/* The page: whose store this is, and ways into it. */
"use strict";

fetch("/api/info").then((reply) => reply.json()).then((info) => {
	document.getElementById("host").textContent = info.error ?? `${info.host}, bpfprof ${info.version}`;
});
