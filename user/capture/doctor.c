/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do, each probed by trying. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/absent_call.h"
#include "base/cleanup.h"
#include "base/confine.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "base/reader.h"
#include "capture/capture.h"
#include "capture/guard.h"
#include "capture/loader.h"
#include "capture/samplers.h"
#include "capture/waits.h"
#include "event/kernel_fs.h"
#include "event/perf_open.h"
#include "event/pmu.h"
#include "proc/kallsyms.h"
#include "proc/namespaces.h"

enum { RATE_ENOUGH_HZ = 1000 };

typedef void probe_fn(struct capture_probe *probe);

static void __attribute__((format(printf, 2, 3)))
detail(struct capture_probe *probe, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(probe->detail, sizeof(probe->detail), fmt, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3)))
fix(struct capture_probe *probe, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(probe->fix, sizeof(probe->fix), fmt, args);
	va_end(args);
}

static bool is_refused(int err)
{
	return err == -EPERM || err == -EACCES;
}

/* @call answered @err. False: which is neither a refusal nor its absence. */
static bool fix_call(struct capture_probe *probe, enum absent_call call, int err)
{
	const char *what = call == ABSENT_BPF ? "bpf(2)" : "perf_event_open";
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (err == -ENOSYS)
		absent_call_explain(what, call, "/proc", &text);
	else if (is_refused(err))
		privilege_explain(what, PRIVILEGES_RECORD, err, &text);
	else
		return false;
	fix(probe, "%s", buf_cstr(&text));
	return true;
}

static void probe_capability(struct capture_probe *probe, enum privilege privilege)
{
	const struct privilege_info *info = privilege_info(privilege);

	probe->name = info->name;
	probe->is_required = PRIVILEGES_RECORD & PRIVILEGE_BIT(privilege);
	probe->ok = privilege_has(privilege);
	detail(probe, "%s", info->feature);
	if (!probe->ok && privilege_is_in_user_namespace())
		fix(probe, "run on the host: nobody has it in a user namespace; without it %s",
		    info->without);
	else if (!probe->ok)
		fix(probe, "run with sudo, or give the binary %s; without it %s", info->name,
		    info->without);
}

static void probe_btf(struct capture_probe *probe)
{
	probe->ok = !access("/sys/kernel/btf/vmlinux", R_OK);
	detail(probe, "/sys/kernel/btf/vmlinux %s", probe->ok ? "is there" : strerror(errno));
	if (!probe->ok)
		fix(probe, "use a kernel with CONFIG_DEBUG_INFO_BTF=y (any current "
			   "distribution's), or --btf FILE");
}

static void probe_perf(struct capture_probe *probe)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10101010,
		.disabled = 1,
	};
	_cleanup_free_ char *paranoid = fs_read_line("/proc/sys/kernel/perf_event_paranoid");
	_cleanup_close_ int fd =
		syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	probe->ok = fd >= 0;
	detail(probe, "cpu-clock on CPU 0 %s; perf_event_paranoid is %s",
	       fd >= 0 ? "opens" : strerror(-err), paranoid ? paranoid : "unknown");
	if (!probe->ok && !fix_call(probe, ABSENT_PERF_EVENT_OPEN, err))
		fix(probe, "`bpfprof -v record -d 1` shows what does not open");
}

static void probe_pmu(struct capture_probe *probe)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	_cleanup_close_ int fd =
		syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	probe->ok = fd >= 0;
	detail(probe, "the hardware's cycle counter %s%s",
	       fd >= 0 ? "opens" : "does not open: ", fd >= 0 ? "" : strerror(-err));
	if (err == -ENOSYS || is_refused(err))
		fix(probe, "as of perf events, above");
	else if (err)
		fix(probe, "nothing to mend on most virtual machines: cpu-clock is used; it cannot "
			   "see code that runs with interrupts off");
}

/* Load what @opts need without a word about it. As loader_open(). */
static int load_quietly(struct loader *loader, const struct capture_opts *opts)
{
	const struct samplers samplers = {.cnt = !opts->waits.is_alone}; /* a counter */
	enum log_level level = log_get_level();
	int err;

	log_set_level(LOG_QUIET);
	err = loader_open(loader, opts, &samplers, NULL);
	log_set_level(level);
	return err;
}

static void probe_load(struct capture_probe *probe)
{
	const struct capture_opts opts = {.max_kernel_bytes = 1 << 20};
	struct loader loader;
	int err = load_quietly(&loader, &opts);

	probe->ok = !err;
	if (err)
		detail(probe, "%s", strerror(-err));
	else
		detail(probe, "%llu instructions verified; the memory-map walk %s",
		       (unsigned long long)loader_verified_insns(&loader),
		       loader.vma_walk_ok ? "agrees with /proc/self/maps" : "FAILS its self-test");
	if (err && !fix_call(probe, ABSENT_BPF, err))
		fix(probe, "`bpfprof -v record -d 1` shows the kernel's own words");
	loader_close(&loader);
}

/* The programs of --off-cpu, and how they get to a thread that is back on a CPU. */
static void probe_waits(struct capture_probe *probe)
{
	const struct capture_opts opts = {
		.max_kernel_bytes = 1 << 20,
		.waits = {.is_wanted = true, .is_alone = true},
	};
	struct loader loader;
	int err = load_quietly(&loader, &opts);

	probe->ok = !err;
	if (err) {
		detail(probe, "%s", strerror(-err));
		fix(probe, "`bpfprof -v --off-cpu -d 1` shows the kernel's own words");
	} else {
		detail(probe, "%llu instructions verified; %s",
		       (unsigned long long)loader_verified_insns(&loader), waits_describe(&loader));
	}
	loader_close(&loader);
}

/* Programs on tracepoints and kernel probes are not run inside a bpf() call on a map; that they
 * were hit there is in their recursion count since Linux 6.7 ("bpf: Count missed stats in
 * trace_call_bpf"), which the ledger shows as never_ran. Nothing but the release tells. */
static const char *hits_inside_bpf(void)
{
	uint64_t major, minor;
	struct utsname host;
	struct reader rd;

	if (uname(&host))
		return "a hit inside a bpf() call is not recorded";
	reader_init(&rd, host.release, strlen(host.release));
	major = reader_number(&rd, 10);
	reader_accept(&rd, '.');
	minor = reader_number(&rd, 10);
	if (rd.err)
		return "a hit inside a bpf() call is not recorded";
	return major > 6 || (major == 6 && minor >= 7)
		       ? "a hit inside a bpf() call is not recorded, but counted (never_ran)"
		       : "a hit inside a bpf() call is not recorded, nor counted before Linux 6.7";
}

static void probe_tracepoints(struct capture_probe *probe)
{
	_cleanup_(buf_deinit) struct buf why;
	_cleanup_close_ int fd = -1;

	buf_init(&why, BUF_NO_MAX);
	fd = kernel_fs_tracefs(&why);
	probe->ok = fd >= 0;
	if (probe->ok)
		detail(probe, "tracefs can be read; %s", hits_inside_bpf());
	else
		detail(probe, "%s", buf_cstr(&why));
	if (!probe->ok)
		fix(probe, "counters and probes work without it");
}

static void probe_kprobes(struct capture_probe *probe)
{
	uint32_t type;

	probe->ok = !pmu_type(PMU_ROOT, "kprobe", &type);
	if (probe->ok)
		detail(probe, "functions of the kernel can be probed; %s", hits_inside_bpf());
	else
		detail(probe, "the kernel has none (CONFIG_KPROBE_EVENTS is not set)");
	if (!probe->ok)
		fix(probe, "use tracepoints: bpfprof list '*:*'");
}

static void probe_uprobes(struct capture_probe *probe)
{
	uint32_t type;

	probe->ok = !pmu_type(PMU_ROOT, "uprobe", &type);
	if (!probe->ok)
		detail(probe, "the kernel has none (CONFIG_UPROBE_EVENTS is not set)");
	else
		detail(probe, "%s",
		       probes_have_multi() ? "one link holds all of an event"
					   : "each place is an event of its own, and takes up to "
					     "0.1 s to be removed");
	if (!probe->ok)
		fix(probe, "use a kernel with them: every distribution's has");
}

static void probe_lockdown(struct capture_probe *probe)
{
	_cleanup_free_ char *line = fs_read_line("/sys/kernel/security/lockdown");

	probe->ok = !line || !strstr(line, "[confidentiality]");
	detail(probe, "%s", line ? line : "no lockdown");
	if (!probe->ok)
		fix(probe, "confidentiality lockdown forbids BPF to read kernel memory: boot with "
			   "lockdown=integrity or none");
}

/* With 0 the kernel shows addresses to who may profile it: by kernel.perf_event_paranoid. */
static void probe_kptr(struct capture_probe *probe)
{
	_cleanup_free_ char *line = fs_read_line("/proc/sys/kernel/kptr_restrict");
	struct kallsyms *syms = kallsyms_open(KALLSYMS_PATH);

	probe->ok = syms && !kallsyms_is_restricted(syms);
	detail(probe, "kernel.kptr_restrict is %s; addresses of functions %s",
	       line ? line : "unknown", probe->ok ? "can be read" : "are hidden");
	if (!probe->ok)
		fix(probe, "kernel functions will have no names: %s",
		    line && !strcmp(line, "2") ? "sysctl kernel.kptr_restrict=1"
					       : "run with sudo, or give the binary CAP_SYSLOG");
	kallsyms_free(syms);
}

static uint64_t setting(const char *path, uint64_t otherwise)
{
	_cleanup_free_ char *line = fs_read_line(path);
	uint64_t value;

	return line && !parse_u64(line, &value) ? value : otherwise;
}

/* The kernel lowers it by itself when its interrupts take more than their share. */
static void probe_rate(struct capture_probe *probe)
{
	uint64_t max_hz = perf_max_rate_hz();
	uint64_t percent = setting("/proc/sys/kernel/perf_cpu_time_max_percent", 0);

	probe->ok = max_hz >= RATE_ENOUGH_HZ;
	detail(probe,
	       "kernel.perf_event_max_sample_rate is %llu; the kernel lowers it where sampling "
	       "takes more than %llu %% of a CPU",
	       (unsigned long long)max_hz, (unsigned long long)percent);
	if (!probe->ok)
		fix(probe,
		    "-F beyond it is refused: sysctl kernel.perf_event_max_sample_rate=100000");
}

static void probe_unprivileged(struct capture_probe *probe)
{
	static const char path[] = "/proc/sys/kernel/unprivileged_bpf_disabled";
	uint64_t value = setting(path, UINT64_MAX);

	probe->ok = true;
	if (value == UINT64_MAX)
		detail(probe, "the kernel has no kernel.unprivileged_bpf_disabled");
	else
		detail(probe, "kernel.unprivileged_bpf_disabled is %llu; CAP_BPF is %s",
		       (unsigned long long)value,
		       value ? "needed to load programs and for their maps"
			     : "needed to load programs");
}

static void probe_modules(struct capture_probe *probe)
{
	_cleanup_free_ char *modules = fs_read_line("/sys/kernel/security/lsm");

	probe->ok = true;
	if (modules)
		detail(probe, "active: %s", modules);
	else
		detail(probe, "unknown: securityfs is not mounted");
}

static void probe_filter(struct capture_probe *probe)
{
	int err = confine_probe();

	probe->ok = !err;
	detail(probe, "%s%s",
	       err ? "the kernel does not let us give up system calls: "
		   : "what a recording never needs is given up when it has been set up",
	       err ? strerror(-err) : "");
	if (!probe->ok)
		fix(probe, "recording works without it: a kernel with CONFIG_SECCOMP_FILTER has "
			   "one, and a container's profile must allow seccomp(2)");
}

static void probe_memlock(struct capture_probe *probe)
{
	struct rlimit limit = {0};
	_cleanup_close_ int fd = -1;
	int err;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bp_probe", 4, 1 << 20, 16, NULL);
	err = fd < 0 ? -errno : 0;
	probe->ok = !err;
	if (limit.rlim_cur == RLIM_INFINITY)
		detail(probe, "a 16 MiB map %s; RLIMIT_MEMLOCK is unlimited",
		       err ? strerror(-err) : "can be made");
	else
		detail(probe,
		       "a 16 MiB map %s; RLIMIT_MEMLOCK is %llu KiB (kernels from 5.11 on do not "
		       "charge it)",
		       err ? strerror(-err) : "can be made",
		       (unsigned long long)limit.rlim_cur / 1024);
	if (err && !fix_call(probe, ABSENT_BPF, err))
		fix(probe, "ulimit -l unlimited, or a smaller --max-memory");
}

static void probe_container(struct capture_probe *probe)
{
	_cleanup_free_ char *init = fs_read_line("/proc/1/comm");
	bool contained = !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK);

	bool has_users = privilege_is_in_user_namespace(), has_pids = namespaces_pid();

	probe->ok = !contained && !has_users && !has_pids;
	detail(probe, "%s%s%s; pid 1 is '%s'", contained ? "in a container" : "not in a container",
	       has_pids ? ", in a pid namespace of its own: processes outside have no pids" : "",
	       has_users ? ", in a user namespace of its own" : "", init ? init : "?");
	if (!probe->ok)
		fix(probe, "to see the whole host: --pid=host --privileged, and the host's "
			   "/sys/kernel mounted");
}

static void probe_stats(struct capture_probe *probe)
{
	_cleanup_close_ int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	probe->ok = fd >= 0;
	detail(probe, "the kernel's run counts %s", fd >= 0 ? "can be read" : strerror(errno));
	if (!probe->ok)
		fix(probe, "needs CAP_SYS_ADMIN; without it the ledger cannot be checked against "
			   "the kernel's own count");
}

static void probe_stop_file(struct capture_probe *probe)
{
	const char *why_not;

	probe->ok = !guard_file_counts(LEDGER_STOP_FILE, &why_not);
	if (!probe->ok)
		fix(probe, "remove " LEDGER_STOP_FILE " to record again");
	detail(probe, "%s %s%s", LEDGER_STOP_FILE,
	       probe->ok ? why_not ? "forbids nothing: " : "is not there" : "forbids recording",
	       why_not ? why_not : "");
}

static const struct {
	const char *name;
	bool is_required;
	probe_fn *run;
} probes[] = {
	{"kernel type information (BTF)", true, probe_btf},
	{"perf events", true, probe_perf},
	{"hardware counters (PMU)", false, probe_pmu},
	{"memory for maps", true, probe_memlock},
	{"BPF programs", true, probe_load},
	{"off-CPU programs", false, probe_waits},
	{"tracepoints", false, probe_tracepoints},
	{"kernel probes", false, probe_kprobes},
	{"user probes", false, probe_uprobes},
	{"BPF run statistics", false, probe_stats},
	{"kernel symbols", false, probe_kptr},
	{"sampling rate", false, probe_rate},
	{"unprivileged BPF", false, probe_unprivileged},
	{"lockdown", true, probe_lockdown},
	{"security modules", false, probe_modules},
	{"system call filter", false, probe_filter},
	{"stop file", true, probe_stop_file},
	{"container", false, probe_container},
};

size_t capture_doctor(struct capture_probe *out, size_t max)
{
	size_t cnt = 0;

	for (int i = 0; i < PRIVILEGE_CNT && cnt < max; i++) {
		out[cnt] = (struct capture_probe){0};
		probe_capability(&out[cnt++], (enum privilege)i);
	}
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && cnt < max; i++) {
		out[cnt] = (struct capture_probe){.name = probes[i].name,
						  .is_required = probes[i].is_required};
		probes[i].run(&out[cnt++]);
	}
	return cnt;
}
