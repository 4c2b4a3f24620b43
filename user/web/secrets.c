/* SPDX-License-Identifier: Apache-2.0 */
/* The token and the TLS files: see secrets.h. */
#include "web/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/sha256.h"
#include "web/query.h"

enum {
	FILE_BYTES_MAX = 64 << 10,
	TOKEN_MODE_MAX = 0700, /* what may be set */
	KEY_MODE_MAX = 0750,
	CERT_MODE_MAX = 0755,
};

static char *read_secret(const char *what, const char *path, mode_t mode_max)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(buf_deinit) struct buf text;
	struct stat st;
	int err = 0;

	buf_init(&text, FILE_BYTES_MAX);
	if (fd < 0 || fstat(fd, &st)) {
		log_error("web: %s '%s': %s", what, path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		log_error("web: %s '%s' is no regular file", what, path);
		return NULL;
	}
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 0777 & ~mode_max)) {
		log_error("web: %s '%s' can be read or changed by others (chmod 600, and give it "
			  "to the user who runs bpfprof)",
			  what, path);
		return NULL;
	}
	err = fs_read_fd(fd, &text);
	if (!err && memchr(buf_cstr(&text), '\0', text.len))
		err = -EBADMSG;
	if (err) {
		log_error("web: %s '%s': %s", what, path,
			  err == -EFBIG ? "larger than 64 KiB" : strerror(-err));
		return NULL;
	}
	return text.len ? buf_take(&text, NULL) : strdup("");
}

char *web_secrets_read_tokens(const char *path)
{
	return read_secret("token file", path, TOKEN_MODE_MAX);
}

bool web_token_is_fit(const char *token)
{
	const size_t len = strlen(token);

	for (size_t i = 0; i < len; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return false;
	return len >= WEB_TOKEN_BYTES_MIN && len <= WEB_TOKEN_BYTES_MAX;
}

/* @token is one line: cut what ends it. */
static bool fit_token(char *token)
{
	size_t len = strlen(token);

	while (len && (token[len - 1] == '\n' || token[len - 1] == '\r'))
		token[--len] = '\0';
	return web_token_is_fit(token);
}

static int read_token(const char *path, struct web_secrets *secrets)
{
	secrets->token = web_secrets_read_tokens(path);
	if (!secrets->token)
		return -EACCES;
	if (fit_token(secrets->token))
		return 0;
	log_error("web: token file '%s': wanted are %d to %d printable characters on one line "
		  "(openssl rand -hex 32 > FILE makes some)",
		  path, WEB_TOKEN_BYTES_MIN, WEB_TOKEN_BYTES_MAX);
	return -EINVAL;
}

static int read_tls(const struct web_opts *opts, struct web_secrets *secrets)
{
	if (!opts->tls_cert || !opts->tls_key) {
		log_error("web: TLS needs a certificate and its key (--tls-cert and --tls-key)");
		return -EINVAL;
	}
	secrets->cert = read_secret("certificate", opts->tls_cert, CERT_MODE_MAX);
	secrets->key = read_secret("key", opts->tls_key, KEY_MODE_MAX);
	return secrets->cert && secrets->key ? 0 : -EACCES;
}

int web_secrets_read(const struct web_opts *opts, struct web_secrets *out)
{
	struct web_secrets secrets = {0};
	int err = 0;

	if (opts->token_file && !opts->service)
		err = read_token(opts->token_file, &secrets);
	if (!err && (opts->tls_cert || opts->tls_key))
		err = read_tls(opts, &secrets);
	if (err)
		web_secrets_deinit(&secrets);
	else
		*out = secrets;
	return err;
}

static void forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void web_secrets_deinit(struct web_secrets *secrets)
{
	forget(secrets->token);
	forget(secrets->key);
	free(secrets->cert);
	*secrets = (struct web_secrets){0};
}

/* Digests are of one length, and say nothing of where texts differ. */
bool web_token_is_equal(const char *token, const char *given, size_t given_len)
{
	uint8_t wanted[SHA256_BYTES], is[SHA256_BYTES];
	uint8_t difference = 0;

	sha256(token, strlen(token), wanted);
	sha256(given, given_len, is);
	for (size_t i = 0; i < sizeof(wanted); i++)
		difference |= wanted[i] ^ is[i];
	return !difference;
}

bool web_secrets_allow(const struct web_secrets *secrets, const char *authorization)
{
	_cleanup_(buf_deinit) struct buf token = {0};

	if (!secrets->token)
		return true;
	buf_init(&token, WEB_TOKEN_BYTES_MAX);
	return web_token_of(authorization, &token) &&
	       web_token_is_equal(secrets->token, token.data, token.len);
}
