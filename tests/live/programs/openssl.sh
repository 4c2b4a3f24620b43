# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# OpenSSL's hand-written assembly, one algorithm after the other.
packages='openssl'
prepare() { :; }
load() {
	while :; do
		openssl speed -seconds 1 -bytes 4096 sha256 sha1 sha512 md5 2>/dev/null
		for cipher in aes-256-gcm chacha20-poly1305 aes-128-cbc aes-256-ctr camellia-128-cbc; do
			openssl speed -seconds 1 -bytes 4096 -evp $cipher 2>/dev/null
		done
		openssl speed -seconds 1 rsa2048 ecdsap256 ecdhx25519 ed25519 ecdsap384 2>/dev/null
	done >/dev/null
}
record_s=24
