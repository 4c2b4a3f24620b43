/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a program instruction by instruction and compare, before each, the stack that the unwinder
 * finds with the shadow stack.
 *
 *	singlestep [--from-exec] [--steps N] [--signal-every N] -- PROGRAM ARG...
 *
 * It begins at the program's entry point, or with --from-exec in the dynamic linker. --signal-every
 * sends SIGUSR1 at every Nth instruction outside of handlers. Where the two differ libdw decides:
 * if it gives the shadow stack we are wrong; if not, the CFI is, and the place is listed. Exit: 0
 * when nothing is wrong and at most one step in 10,000 is listed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/parse.h"
#include "libdw_chain.h"
#include "registers.h"
#include "shadow.h"
#include "space.h"

enum {
	DECODED_CNT = 1 << 16,
	JUDGED_PER_PLACE = 8,
	CALM_STEPS = 4,
	TEXT_BYTES = 512,
	GROUPS_SHOWN = 40,
};

struct options {
	uint64_t steps_max, signal_every;
	bool from_exec;
};

enum verdict {
	VERDICT_WRONG, /* libdw finds the shadow stack and we do not */
	VERDICT_UNFINISHED, /* all frames are right, but the walk does not know the bottom */
	VERDICT_CFI, /* libdw does not find it either */
	VERDICT_JUMP, /* the same, from then until frames are left by another way than returning */
	VERDICT_NO_CFI, /* the same, and a frame before has no FDE */
	VERDICT_CNT,
};

/* Steps at one instruction that differed above the same frame. */
struct place {
	uint64_t ip, above_ip;
	uint64_t group; /* above_ip where we are wrong, else its mapping */
	uint64_t cnt;
	uint64_t judged;
	uint64_t jump_cnt; /* of cnt: a jump was under way */
	enum verdict verdict;
	bool is_shown; /* its group has been */
	char text[TEXT_BYTES];
};

struct decoded {
	uint64_t ip;
	enum instruction insn;
};

struct run {
	const struct options *options;
	pid_t pid;
	struct space space;
	struct shadow shadow;
	struct libdw_chain libdw;
	bool has_libdw, is_stale; /* is_stale: libdw has not seen the current mappings */
	struct decoded decoded[DECODED_CNT];
	struct place *places; /* owned */
	size_t places_cnt, places_cap;
	/* Places of the steps that differed since CALM_STEPS in a row did not, owned. */
	size_t *pending;
	size_t pending_cnt, pending_cap;
	bool is_landing; /* and meanwhile frames were left by a jump */
	unsigned int calm_steps;
	uint64_t steps, equal, frames, deepest, signals;
	uint64_t by_verdict[VERDICT_CNT];
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "singlestep: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void get_regs(const struct run *run, struct user_regs_struct *out)
{
	int err = regs_get(run->pid, out);

	if (err) {
		errno = -err;
		die("registers");
	}
}

/* --- Start --- */

static pid_t start(char *const *argv)
{
	cpu_set_t cpu;
	pid_t pid;
	int status;

	/* Both on one CPU: they never run at the same time, and waking another one is slow. */
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pid = fork();

	if (!pid) {
		/* The same addresses in every run. */
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die(argv[0]);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
	return pid;
}

static uint64_t entry_point(pid_t pid)
{
	char name[32];
	Elf64_auxv_t aux[64] = {0};
	ssize_t len;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, aux, sizeof(aux) - sizeof(aux[0]));
	if (len < 0)
		die(name);
	close(fd);
	for (size_t i = 0; i < sizeof(aux) / sizeof(aux[0]); i++)
		if (aux[i].a_type == AT_ENTRY)
			return aux[i].a_un.a_val;
	errno = ENOENT;
	die("entry point");
}

/* Let the process run up to @ip. */
static void run_to(const struct run *run, uint64_t ip)
{
	struct user_regs_struct regs;
	long word;
	int status;

	get_regs(run, &regs);
	if (REGS_IP(&regs) == ip)
		return;
	word = regs_break(run->pid, ip);
	ptrace(PTRACE_CONT, run->pid, NULL, NULL);
	if (waitpid(run->pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP || regs_unbreak(run->pid, ip, word))
		die("run to the entry point");
}

/* --- Judge --- */

static bool walk_equals_shadow(const struct run *run, const struct bpfhost_walk *walk, uint64_t ip)
{
	uint32_t total = walk->total;
	bool is_too_deep = run->shadow.cnt >= BP_WALK_MAX;

	if (is_too_deep != (walk->outcome == BP_STACK_TOO_DEEP) ||
	    total != (is_too_deep ? (size_t)BP_WALK_MAX : run->shadow.cnt + 1))
		return false;
	for (uint32_t i = 0; i < total; i++) {
		/* Elided. */
		if (total > BP_FRAMES_USER && i >= BP_FRAMES_LEAF && i < total - BP_FRAMES_ROOT)
			continue;
		if (bpfhost_frame_ip(&run->space.task, bpfhost_frame(walk, i)) !=
		    shadow_frame(&run->shadow, ip, i))
			return false;
	}
	return true;
}

/* libdw may go on below the bottom where that is not marked. */
static bool libdw_equals_shadow(struct run *run, uint64_t ip)
{
	static uint64_t ips[BP_WALK_MAX];
	bool is_complete;
	size_t cnt;

	if (!run->has_libdw && libdw_chain_process(&run->libdw, run->pid))
		die("libdw");
	if (run->has_libdw && run->is_stale)
		libdw_chain_reload(&run->libdw);
	run->has_libdw = true;
	run->is_stale = false;
	cnt = libdw_chain_get(&run->libdw, run->pid, ips, BP_WALK_MAX, &is_complete);
	if (cnt <= run->shadow.cnt)
		return false;
	for (size_t i = 0; i <= run->shadow.cnt; i++)
		if (ips[i] != shadow_frame(&run->shadow, ip, i))
			return false;
	return true;
}

/* How many frames agree, leaf first. */
static uint32_t frames_agree(const struct run *run, const struct bpfhost_walk *walk, uint64_t ip)
{
	uint32_t i = 0;

	while (i < walk->total && i <= run->shadow.cnt && i < BP_FRAMES_LEAF &&
	       bpfhost_frame_ip(&run->space.task, bpfhost_frame(walk, i)) ==
		       shadow_frame(&run->shadow, ip, i))
		i++;
	return i;
}

/* How the leaf's CFA relates to where the return address is. */
static void describe_cfa(struct run *run, const struct user_regs_struct *regs, char *out,
			 size_t room)
{
	const struct shadow *shadow = &run->shadow;
	uint64_t cfa, slot = shadow->cnt ? shadow->entries[shadow->cnt - 1].slot : 0;

	if (!libdw_chain_has_cfi(&run->libdw, REGS_IP(regs)))
		snprintf(out, room, "no CFI");
	else if (!libdw_chain_cfa(&run->libdw, regs, &cfa))
		snprintf(out, room, "CFA by expression");
	else
		snprintf(out, room, "CFA off by %+ld", (long)(cfa - slot - SHADOW_CFA_ABOVE_SLOT));
}

/* The first frame that differs, and the outcome. */
static void describe_walk(struct run *run, const struct bpfhost_walk *walk, uint64_t ip,
			  uint32_t agree, char *out, size_t room)
{
	uint32_t expected_cnt = (uint32_t)run->shadow.cnt + 1;
	char ours[64] = "nothing", theirs[64] = "nothing";

	if (agree < walk->total)
		space_describe(&run->space,
			       bpfhost_frame_ip(&run->space.task, bpfhost_frame(walk, agree)), ours,
			       sizeof(ours));
	if (agree < expected_cnt)
		space_describe(&run->space, shadow_frame(&run->shadow, ip, agree), theirs,
			       sizeof(theirs));
	snprintf(out, room, "frame %u of %u is %s, expected %s, outcome %u", agree, expected_cnt,
		 ours, theirs, walk->outcome);
}

static void place_describe(struct run *run, struct place *place, const struct bpfhost_walk *walk,
			   const struct user_regs_struct *regs, uint32_t agree)
{
	char walk_text[192], cfa_text[64], ip_text[64], above_text[64];
	const char *symbol = libdw_chain_symbol(&run->libdw, REGS_IP(regs));
	const char *above_symbol = libdw_chain_symbol(&run->libdw, place->above_ip);

	space_describe(&run->space, REGS_IP(regs), ip_text, sizeof(ip_text));
	space_describe(&run->space, place->above_ip, above_text, sizeof(above_text));
	describe_walk(run, walk, REGS_IP(regs), agree, walk_text, sizeof(walk_text));
	describe_cfa(run, regs, cfa_text, sizeof(cfa_text));
	snprintf(place->text, sizeof(place->text), "above %s (%s): %s; leaf %s (%s), %s",
		 above_text, above_symbol ? above_symbol : "?", walk_text, ip_text,
		 symbol ? symbol : "?", cfa_text);
}

static struct place *place_of(struct run *run, uint64_t ip, uint64_t above_ip)
{
	for (size_t i = 0; i < run->places_cnt; i++)
		if (run->places[i].ip == ip && run->places[i].above_ip == above_ip)
			return &run->places[i];
	if (array_reserve(&run->places, &run->places_cap, run->places_cnt + 1,
			  sizeof(*run->places)))
		die("places");
	run->places[run->places_cnt] = (struct place){.ip = ip, .above_ip = above_ip};
	return &run->places[run->places_cnt++];
}

/* Is there CFI for each of the first @cnt frames? Beyond one without, all is a guess. */
static bool chain_has_cfi(struct run *run, uint64_t ip, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (!libdw_chain_has_cfi(&run->libdw, shadow_frame(&run->shadow, ip, i)))
			return false;
	return true;
}

/* The verdict on a step that differs; of many at one place the first few stand for all. */
static struct place *judge(struct run *run, const struct bpfhost_walk *walk,
			   const struct user_regs_struct *regs, bool frames_equal)
{
	uint32_t agree = frames_agree(run, walk, REGS_IP(regs));
	uint64_t above_ip = shadow_frame(&run->shadow, REGS_IP(regs), agree ? agree - 1 : 0);
	struct place *place = place_of(run, REGS_IP(regs), above_ip);
	enum verdict verdict = place->verdict == VERDICT_JUMP ? VERDICT_CFI : place->verdict;
	const struct bpfhost_mapping *mapping;

	if (!place->judged || (place->judged < JUDGED_PER_PLACE && verdict != VERDICT_WRONG)) {
		if (libdw_equals_shadow(run, REGS_IP(regs)))
			verdict = VERDICT_WRONG;
		else
			verdict = chain_has_cfi(run, REGS_IP(regs), agree) ? VERDICT_CFI
									   : VERDICT_NO_CFI;
		if (frames_equal)
			verdict = VERDICT_UNFINISHED;
	}
	run->by_verdict[verdict]++;
	place->cnt++;
	if (place->judged++ && verdict >= place->verdict)
		return place;
	place->verdict = verdict;
	mapping = verdict == VERDICT_WRONG ? NULL : space_mapping(&run->space, above_ip);
	place->group = mapping ? mapping->start : above_ip;
	place_describe(run, place, walk, regs, agree);
	return place;
}

/* The CFI at @place describes where a jump goes to. */
static void place_is_jump(struct run *run, struct place *place)
{
	if (place->verdict != VERDICT_CFI)
		return;
	run->by_verdict[VERDICT_CFI]--;
	run->by_verdict[VERDICT_JUMP]++;
	if (++place->jump_cnt == place->cnt)
		place->verdict = VERDICT_JUMP;
}

/* Remember the step just judged until it is known whether a jump is under way. */
static void place_note(struct run *run, struct place *place)
{
	if (run->is_landing) {
		place_is_jump(run, place);
		return;
	}
	if (array_reserve(&run->pending, &run->pending_cap, run->pending_cnt + 1,
			  sizeof(*run->pending)))
		die("places");
	run->pending[run->pending_cnt++] = (size_t)(place - run->places);
}

/* Frames were left: all that differs since a while was on the way there. */
static void jumped(struct run *run)
{
	for (size_t i = 0; i < run->pending_cnt; i++)
		place_is_jump(run, &run->places[run->pending[i]]);
	run->is_landing = run->pending_cnt;
	run->pending_cnt = 0;
}

static void compare(struct run *run, const struct user_regs_struct *regs)
{
	struct bpfhost_walk walk;
	bool frames_equal;

	bpfhost_walk(&run->space.task, regs, false, &walk);
	frames_equal = walk_equals_shadow(run, &walk, REGS_IP(regs));
	run->steps++;
	run->frames += run->shadow.cnt + 1;
	if (run->shadow.cnt + 1 > run->deepest)
		run->deepest = run->shadow.cnt + 1;
	/* The program's first function may not say that it is one. */
	if (frames_equal && (walk.outcome == BP_STACK_COMPLETE || walk.total == 1 ||
			     walk.outcome == BP_STACK_TOO_DEEP)) {
		run->equal++;
		if (++run->calm_steps < CALM_STEPS)
			return;
		run->pending_cnt = 0;
		run->is_landing = false;
	} else {
		run->calm_steps = 0;
		place_note(run, judge(run, &walk, regs, frames_equal));
	}
}

/* --- Step --- */

static enum instruction decode(struct run *run, uint64_t ip)
{
	struct decoded *decoded = &run->decoded[ip % DECODED_CNT];

	if (decoded->ip != ip)
		*decoded = (struct decoded){ip, shadow_decode(&run->space, ip)};
	return decoded->insn;
}

static void mappings_changed(struct run *run)
{
	if (space_reload(&run->space))
		die("mappings");
	memset(run->decoded, 0, sizeof(run->decoded));
	run->is_stale = true;
}

static bool is_mapping_call(uint64_t nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_mremap ||
	       nr == SYS_brk;
}

/* One instruction, or one signal's delivery. The next signal to deliver, or -1 at the end. */
static int step(struct run *run, struct user_regs_struct *regs, int signal_nr)
{
	struct user_regs_struct before = *regs;
	enum instruction insn = decode(run, REGS_IP(&before));
	int status, entered = 0;
	uint64_t left_cnt;

	if (regs_step(run->pid, REGS_IP(&before), signal_nr, &status))
		die("step");
	if (!WIFSTOPPED(status)) {
		printf("exit %d\n",
		       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		return -1;
	}
	get_regs(run, regs);
	space_forget_memory(&run->space);
	if (insn == INSN_SYSCALL && is_mapping_call(REGS_SYSCALL(&before)))
		mappings_changed(run);
	if (signal_nr)
		entered = shadow_signal(&run->shadow, &run->space, &before, regs);
	run->signals += (uint64_t)entered;
	left_cnt = run->shadow.left_cnt;
	if (entered < 0 ||
	    (!entered && shadow_step(&run->shadow, &run->space, insn, &before, regs)))
		die("shadow stack");
	if (run->shadow.left_cnt != left_cnt)
		jumped(run);
	return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

/* SIGUSR1 would end a process that does not handle it. */
static bool is_signal_caught(pid_t pid)
{
	char name[32], line[128];
	uint64_t caught = 0;
	FILE *status;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	status = fopen(name, "re");
	if (!status)
		die(name);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "SigCgt: %lx", &caught) == 1)
			break;
	fclose(status);
	return caught >> (SIGUSR1 - 1) & 1;
}

static void step_all(struct run *run)
{
	const struct options *options = run->options;
	struct user_regs_struct regs;
	int signal_nr = 0;

	get_regs(run, &regs);
	for (uint64_t i = 1; i <= options->steps_max && signal_nr >= 0; i++) {
		compare(run, &regs);
		if (!signal_nr && !run->shadow.segments_cnt && options->signal_every &&
		    i % options->signal_every == 0 && is_signal_caught(run->pid))
			signal_nr = SIGUSR1;
		signal_nr = step(run, &regs, signal_nr);
	}
}

/* --- Report --- */

/* Steps at places of the group of @first, which are marked as shown. */
static uint64_t group_cnt(struct run *run, const struct place *first)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < run->places_cnt; i++) {
		struct place *place = &run->places[i];

		if (place->verdict != first->verdict || place->group != first->group)
			continue;
		cnt += place->cnt;
		place->is_shown = true;
	}
	return cnt;
}

static int report(struct run *run)
{
	static const char *const names[VERDICT_CNT] = {"wrong", "unfinished", "cfi_wrong", "jump",
						       "no_cfi"};
	size_t shown = 0;

	printf("steps %lu\nequal %lu\nframes %lu\ndeepest %lu\nsignals %lu\n", run->steps,
	       run->equal, run->frames, run->deepest, run->signals);
	for (int i = 0; i < VERDICT_CNT; i++)
		printf("%s %lu\n", names[i], run->by_verdict[i]);
	for (size_t i = 0; i < run->places_cnt && shown < GROUPS_SHOWN; i++) {
		const struct place *place = &run->places[i];

		if (place->is_shown)
			continue;
		printf("place %s %lu steps %s\n", names[place->verdict], group_cnt(run, place),
		       place->text);
		shown++;
	}
	return !run->steps || run->by_verdict[VERDICT_WRONG] || run->by_verdict[VERDICT_UNFINISHED];
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option options[] = {
		{"from-exec", no_argument, NULL, 'x'},
		{"steps", required_argument, NULL, 'n'},
		{"signal-every", required_argument, NULL, 's'},
		{0},
	};
	int opt;

	*out = (struct options){.steps_max = UINT64_MAX};
	while ((opt = getopt_long(argc, argv, "xn:s:", options, NULL)) != -1) {
		if (opt == 'x')
			out->from_exec = true;
		else if (opt == 'n' && parse_u64(optarg, &out->steps_max))
			return -1;
		else if (opt == 's' && parse_u64(optarg, &out->signal_every))
			return -1;
		else if (opt == '?')
			return -1;
	}
	return optind == argc ? -1 : 0;
}

int main(int argc, char **argv)
{
	static struct run run;
	struct options options;
	int err;

	if (parse_options(argc, argv, &options)) {
		fprintf(stderr, "usage: singlestep [--from-exec] [--steps N] [--signal-every N] "
				"-- PROGRAM ARG...\n");
		return 2;
	}
	run.options = &options;
	run.pid = start(argv + optind);
	if (!options.from_exec)
		run_to(&run, entry_point(run.pid));
	err = space_init_process(&run.space, run.pid);
	if (err) {
		errno = -err;
		die("mappings");
	}
	step_all(&run);
	err = report(&run);
	if (run.has_libdw)
		libdw_chain_deinit(&run.libdw);
	shadow_deinit(&run.shadow);
	space_deinit(&run.space);
	free(run.places);
	free(run.pending);
	return err;
}
