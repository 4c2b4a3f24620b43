/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups' paths as runtimes, the kubelet and systemd make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/cgroup_path.h"

#define ID "3f4b1d8f2a0e5c6b7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9f0011223344"
#define OUTER "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
#define UID "0c1d2e3f-4a5b-6c7d-8e9f-001122334455"
#define UID_ "0c1d2e3f_4a5b_6c7d_8e9f_001122334455"
#define STATIC_UID "0c1d2e3f4a5b6c7d8e9f001122334455"

static const struct {
	const char *path, *container, *pod, *unit;
} cases[] = {
	/* Nobody's */
	{"", "", "", ""},
	{"/", "", "", ""},
	{"/../..", "", "", ""},
	{"/process_api/5cb0d057a8a6e0c35d69ae54a211baad", "", "", ""},
	/* systemd */
	{"/init.scope", "", "", "init.scope"},
	{"/system.slice/nginx.service", "", "", "nginx.service"},
	{"/system.slice/system-getty.slice/getty@tty1.service", "", "", "getty@tty1.service"},
	{"/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/"
	 "app-org.gnome.Terminal.slice/vte-spawn-0c1d.scope",
	 "", "", "vte-spawn-0c1d.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "init.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/syncthing.service", "", "",
	 "syncthing.service"},
	{"/machine.slice/systemd-nspawn@web.service/payload", "", "", "systemd-nspawn@web.service"},
	/* docker */
	{"/docker/" ID, ID, "", ""},
	{"/system.slice/docker-" ID ".scope", ID, "", ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID, "",
	 ""},
	{"/docker/" OUTER "/docker/" ID, ID, "", ""},
	{"/docker/" ID "/system.slice/nginx.service", ID, "", "nginx.service"},
	{"/docker/" ID "/init.scope", ID, "", "init.scope"},
	{"/ecs/0c1d2e3f4a5b6c7d8e9f001122334455/" ID, ID, "", ""},
	/* containerd, nerdctl */
	{"/default/" ID, ID, "", ""},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 ID, UID, ""},
	{"/system.slice/nerdctl-" ID ".scope", ID, "", ""},
	/* podman */
	{"/machine.slice/libpod-" ID ".scope", ID, "", ""},
	{"/machine.slice/libpod-" ID ".scope/container", ID, "", ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", "", "", "libpod-conmon-" ID ".scope"},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	 ID, "", ""},
	/* the kubelet with cgroupfs */
	{"/kubepods/pod" UID "/" ID, ID, UID, ""},
	{"/kubepods/burstable/pod" UID "/" ID, ID, UID, ""},
	{"/kubepods/besteffort/pod" UID "/crio-" ID, ID, UID, ""},
	{"/kubepods/burstable/pod" STATIC_UID "/" ID, ID, STATIC_UID, ""},
	/* ... and with systemd */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID, UID, ""},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
	 ".scope",
	 ID, UID, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/crio-conmon-" ID ".scope",
	 "", UID, "crio-conmon-" ID ".scope"},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID, ""},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice", "", UID, ""},
	/* Nearly */
	{"/docker/" ID "0", "", "", ""},
	{"/docker/x" ID, "", "", ""},
	{"/docker/3F4B1D8F2A0E5C6B7D8E9FA0B1C2D3E4F5061728394A5B6C7D8E9F0011223344", "", "", ""},
	{"/kubepods/pod0c1d2e3f-4a5b-6c7d-8e9f-00112233445g/x", "", "", ""},
	{"/kubepods/pod0c1d2e3f/x", "", "", ""},
	{"/pods/tripod", "", "", ""},
	{"/.service", "", "", ""},
	{"/a.service/b", "", "", "a.service"},
};

static void test_paths(void **state)
{
	struct cgroup_names names;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("%s\n", cases[i].path);
		cgroup_path_parse(cases[i].path, strlen(cases[i].path), &names);
		assert_string_equal(names.container, cases[i].container);
		assert_string_equal(names.pod, cases[i].pod);
		assert_string_equal(names.unit, cases[i].unit);
	}
}

static void test_unit_is_cut_and_made_harmless(void **state)
{
	struct cgroup_names names;
	char path[400] = "/";

	memset(path + 1, 'u', 300);
	strncat(path, ".service", 9);
	cgroup_path_parse(path, strlen(path), &names);
	assert_int_equal(strlen(names.unit), CGROUP_UNIT_MAX - 1);
	cgroup_path_parse("/a\nb\xff.service", 13, &names);
	assert_string_equal(names.unit, "a?b?.service");
}

static void assert_picked(const char *text, const char *path)
{
	size_t len;
	const char *picked = cgroup_file_pick(text, strlen(text), &len);

	assert_non_null(picked);
	assert_int_equal(len, strlen(path));
	assert_memory_equal(picked, path, len);
}

static void test_file(void **state)
{
	size_t len;

	assert_picked("0::/system.slice/ssh.service\n", "/system.slice/ssh.service");
	/* Hybrid: systemd's own hierarchy has the unit, the unified one may be empty. */
	assert_picked("4:memory:/\n1:name=systemd:/system.slice/ssh.service\n0::/\n",
		      "/system.slice/ssh.service");
	assert_picked("9:cpuset:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n",
		      "/docker/" ID);
	assert_picked("4:memory:/process_api/5cb0\n3:cpuset:/\n0::/\n", "/process_api/5cb0");
	/* A container says more than the runtime's unit. */
	assert_picked("5:memory:/docker/" ID "\n0::/system.slice/docker.service\n", "/docker/" ID);
	assert_picked("0::/a:b\n", "/a:b");
	assert_picked("0::/", "/");
	assert_null(cgroup_file_pick("", 0, &len));
	assert_null(cgroup_file_pick("no colon\none:colon\n", 19, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_unit_is_cut_and_made_harmless),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
