/* SPDX-License-Identifier: Apache-2.0 */
/* deny CALL=ERRNO... -- COMMAND ARG...: run COMMAND where these system calls fail so, as a security
 * module or a container's filter makes them. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add(scmp_filter_ctx filter, char *rule)
{
	static const struct {
		const char *name;
		int value;
	} errors[] = {{"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}};
	char *equals = strchr(rule, '=');

	if (!equals)
		return -EINVAL;
	*equals = '\0';
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, equals + 1))
			return seccomp_rule_add(filter, SCMP_ACT_ERRNO(errors[i].value),
						seccomp_syscall_resolve_name(rule), 0);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int i = 1, err = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) : -ENOMEM;

	for (; i < argc && strcmp(argv[i], "--") && !err; i++)
		err = add(filter, argv[i]);
	if (!err)
		err = seccomp_load(filter);
	if (err || i + 1 >= argc) {
		fprintf(stderr, "deny: %s\n", err ? strerror(-err) : "no COMMAND");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
