/* SPDX-License-Identifier: Apache-2.0 */
/* http.h by libcurl, which is loaded when it is needed: it brings two dozen other libraries. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/build.h"
#include "base/cleanup.h"
#include "http/http.h"

static const char library_name[] = "libcurl.so.4";

enum { CONNECT_TIMEOUT_MS = 10000, KEPT_IDLE_S = 60 };

struct http {
	CURL *curl; /* owned */
	struct http_opts opts;
	struct http_traffic traffic;
	struct buf *answer; /* borrowed, of the request that runs */
	const char *wanted; /* borrowed, of the request that runs */
	char wanted_value[HTTP_ERROR_MAX]; /* of the last answer */
	uint64_t retry_after_s; /* of the last answer */
	char error[HTTP_ERROR_MAX];
	char curl_error[CURL_ERROR_SIZE];
};

/* What is used of the library, which is loaded when the first one is opened. */
static struct {
	pthread_once_t once;
	int err; /* 0: all of it is there */
	__typeof__(&curl_global_init) global_init;
	__typeof__(&curl_easy_init) easy_init;
	__typeof__(&curl_easy_cleanup) easy_cleanup;
	__typeof__(&curl_easy_perform) easy_perform;
	__typeof__(&curl_easy_strerror) easy_strerror;
	__typeof__(&curl_slist_append) slist_append;
	__typeof__(&curl_slist_free_all) slist_free_all;
	CURLcode (*setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*getinfo)(CURL *curl, CURLINFO info, ...);
	char why[HTTP_ERROR_MAX];
} lib = {.once = PTHREAD_ONCE_INIT};

static void load_library(void)
{
	const struct {
		const char *name;
		void *function_out;
	} symbols[] = {
		{"curl_global_init", &lib.global_init},
		{"curl_easy_init", &lib.easy_init},
		{"curl_easy_cleanup", &lib.easy_cleanup},
		{"curl_easy_perform", &lib.easy_perform},
		{"curl_easy_strerror", &lib.easy_strerror},
		{"curl_slist_append", &lib.slist_append},
		{"curl_slist_free_all", &lib.slist_free_all},
		{"curl_easy_setopt", &lib.setopt},
		{"curl_easy_getinfo", &lib.getinfo},
	};
	const char *reason;
	void *library = build_load_library(library_name, RTLD_NOW | RTLD_LOCAL, &reason);

	lib.err = -ENOSYS;
	if (!library) {
		snprintf(lib.why, sizeof(lib.why), "%s", reason ? reason : library_name);
		return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		if (build_bind_symbol(library, symbols[i].name, symbols[i].function_out))
			continue;
		snprintf(lib.why, sizeof(lib.why), "%s has no %s()", library_name, symbols[i].name);
		return;
	}
	lib.err = lib.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}

static size_t take_body(char *data, size_t size, size_t cnt, void *arg)
{
	struct http *http = arg;

	buf_add(http->answer, data, size * cnt);
	return http->answer->err ? 0 : size * cnt;
}

/* A line of the answer's head. One answer after another may come, as after "100 Continue". */
static size_t take_header(char *line, size_t size, size_t cnt, void *arg)
{
	struct http *http = arg;
	const size_t len = size * cnt, name_len = http->wanted ? strlen(http->wanted) : 0;
	size_t from = name_len + 1, to = len;

	if (!name_len || len <= name_len || line[name_len] != ':' ||
	    strncasecmp(line, http->wanted, name_len) != 0)
		return len;
	while (from < to && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (from < to && (line[to - 1] == ' ' || line[to - 1] == '\r' || line[to - 1] == '\n'))
		to--;
	*http->wanted_value = '\0';
	if (to - from >= sizeof(http->wanted_value))
		return len;
	for (size_t i = from; i < to; i++)
		if (line[i] <= ' ' || line[i] > '~')
			return len;
	memcpy(http->wanted_value, line + from, to - from);
	http->wanted_value[to - from] = '\0';
	return len;
}

static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		       curl_off_t up)
{
	const struct http *http = arg;

	return http->opts.is_cancelled(http->opts.arg);
}

static void set_options(struct http *http)
{
	const struct http_opts *opts = &http->opts;
	CURL *curl = http->curl;
	uint32_t connect_ms = opts->connect_timeout_ms;

	lib.setopt(curl, CURLOPT_NOSIGNAL, 1L);
	lib.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	lib.setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	lib.setopt(curl, CURLOPT_ERRORBUFFER, http->curl_error);
	lib.setopt(curl, CURLOPT_USERAGENT, "bpfprof");
	lib.setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
	lib.setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	lib.setopt(curl, CURLOPT_MAXAGE_CONN, (long)KEPT_IDLE_S);
	lib.setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
		   (long)(connect_ms ? connect_ms : CONNECT_TIMEOUT_MS));
	lib.setopt(curl, CURLOPT_TIMEOUT_MS, (long)opts->timeout_ms);
	lib.setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	lib.setopt(curl, CURLOPT_WRITEDATA, http);
	lib.setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	lib.setopt(curl, CURLOPT_HEADERDATA, http);
	if (opts->ca_file)
		lib.setopt(curl, CURLOPT_CAINFO, opts->ca_file);
	if (opts->send_bytes_per_s)
		lib.setopt(curl, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)opts->send_bytes_per_s);
	if (opts->is_cancelled) {
		lib.setopt(curl, CURLOPT_NOPROGRESS, 0L);
		lib.setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
		lib.setopt(curl, CURLOPT_XFERINFODATA, http);
	}
}

int http_open(const struct http_opts *opts, struct http **out)
{
	struct http *http;

	pthread_once(&lib.once, load_library);
	if (lib.err)
		return lib.err;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->opts = *opts;
	http->curl = lib.easy_init();
	if (!http->curl) {
		free(http);
		return -ENOMEM;
	}
	set_options(http);
	*out = http;
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	lib.easy_cleanup(http->curl);
	free(http);
}

static const struct {
	CURLcode code;
	int err;
} codes[] = {
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_PEER_FAILED_VERIFICATION, -EPERM},
	{CURLE_SSL_CACERT_BADFILE, -EPERM},
	{CURLE_ABORTED_BY_CALLBACK, -ECANCELED},
	{CURLE_OUT_OF_MEMORY, -ENOMEM},
};

static int error_of(struct http *http, CURLcode code)
{
	const char *text = *http->curl_error ? http->curl_error : lib.easy_strerror(code);
	size_t len = strnlen(text, sizeof(http->error) - 1);

	memcpy(http->error, text, len);
	http->error[len] = '\0';
	if (http->answer->err)
		return http->answer->err;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return codes[i].err;
	return -EIO;
}

static void free_list(struct curl_slist **list)
{
	lib.slist_free_all(*list);
}

/* The empty "Expect:" keeps libcurl from waiting whether a body of 1 MiB is welcome. */
static struct curl_slist *make_headers(const char *const *headers)
{
	struct curl_slist *list = lib.slist_append(NULL, "Expect:"), *longer;

	for (; list && headers && *headers; headers++) {
		longer = lib.slist_append(list, *headers);
		if (!longer) {
			lib.slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static void count_traffic(struct http *http)
{
	curl_off_t up = 0, down = 0;
	long request = 0, header = 0;

	lib.getinfo(http->curl, CURLINFO_SIZE_UPLOAD_T, &up);
	lib.getinfo(http->curl, CURLINFO_SIZE_DOWNLOAD_T, &down);
	lib.getinfo(http->curl, CURLINFO_REQUEST_SIZE, &request);
	lib.getinfo(http->curl, CURLINFO_HEADER_SIZE, &header);
	/* Before 8.7 a small body goes out with the headers, and counts as request, too. */
	http->traffic.sent_bytes += (uint64_t)(request > up ? request : request + up);
	http->traffic.received_bytes += (uint64_t)down + (uint64_t)header;
}

int http_send(struct http *http, const struct http_request *request, struct buf *answer,
	      uint32_t *status)
{
	_cleanup_(free_list) struct curl_slist *headers = make_headers(request->headers);
	CURL *curl = http->curl;
	CURLcode code;
	curl_off_t retry_after = 0;
	long got = 0;

	http->retry_after_s = 0;
	if (!headers)
		return -ENOMEM;
	*http->error = *http->curl_error = *http->wanted_value = '\0';
	http->answer = answer;
	http->wanted = request->wanted;
	lib.setopt(curl, CURLOPT_URL, request->url);
	lib.setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (request->body) {
		lib.setopt(curl, CURLOPT_POST, 1L);
		lib.setopt(curl, CURLOPT_POSTFIELDS, request->body);
		lib.setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	} else {
		lib.setopt(curl, CURLOPT_HTTPGET, 1L);
	}
	lib.setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	code = lib.easy_perform(curl);
	count_traffic(http);
	lib.setopt(curl, CURLOPT_HTTPHEADER, NULL);
	if (code != CURLE_OK)
		return error_of(http, code);
	lib.getinfo(curl, CURLINFO_RESPONSE_CODE, &got);
	*status = (uint32_t)got;
	lib.getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
	http->retry_after_s = retry_after > 0 ? (uint64_t)retry_after : 0;
	return 0;
}

const char *http_missing(void)
{
	return lib.why;
}

const char *http_error(const struct http *http)
{
	return http->error;
}

const char *http_wanted(const struct http *http)
{
	return http->wanted_value;
}

uint64_t http_retry_after_s(const struct http *http)
{
	return http->retry_after_s;
}

struct http_traffic http_traffic(const struct http *http)
{
	return http->traffic;
}
