/* SPDX-License-Identifier: Apache-2.0 */
/* One copy of the code that race_vma.c maps: COPY is its number, in its name and in nothing else.
 */
#define PASTE(a, b, c) a##b##c
#define NAME(n) PASTE(copy_, n, _spin)

void NAME(COPY)(volatile unsigned int *left);

__attribute__((section(".text.spin"))) void NAME(COPY)(volatile unsigned int *left)
{
	while (*left)
		--*left;
}
