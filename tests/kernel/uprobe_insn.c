/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running kernel makes of a uprobe on an instruction, beside what insn_x86_decode() says.
 *
 * Each instruction is executed in a child of its own, without and with a probe on it that only this
 * process and its children have, and the registers, vectors and memory afterwards are compared.
 * Wherever the decoder allows a probe, the kernel must take it and the results must be equal. Where
 * it does not, the kernel's answer is shown: that is the evidence for PROBE_MISHANDLED.
 *
 * Exit: 0 as decoded, 1 not, 77 cannot be tried here (not x86-64, no right to probe). The last line
 * says the numbers.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/insn.h"

#ifndef __x86_64__
int main(void)
{
	puts("not an x86-64 machine");
	return 77;
}
#else

/* Offsets are known to the assembly below. */
struct cpu_state {
	uint64_t general[8], sp_moved, flags;
	uint8_t vectors[3][32];
	uint8_t memory[64];
};

struct cpu_state probe_state;

/* name, needs (0: SSE4.2, 1: AVX2 with BMI and FMA, 2: AVX-512), instruction and what reads its
 * result */
#define INSNS(X)                                                                        \
	X(test, 0, "test %rdi, %rdi", "")                                               \
	X(cmp_rip, 0, "cmpb $0, probe_state+128(%rip)", "")                             \
	X(lea_rip, 0, "lea probe_state(%rip), %rdx", "")                                \
	X(mov_fs, 0, "mov %fs:0, %rax", "")                                             \
	X(push, 0, "push %rdi", "pop %rax")                                             \
	X(push_r9, 0, "push %r9", "pop %rax")                                           \
	X(sub_rsp, 0, "sub $8, %rsp", "add $8, %rsp")                                   \
	X(endbr64, 0, "endbr64", "")                                                    \
	X(nop, 0, "nop", "")                                                            \
	X(nopl, 0, "nopl 0x0(%rax,%rax,1)", "")                                         \
	X(jmp, 0, "jmp 1f", "mov $1, %eax; 1:")                                         \
	X(jc, 0, "jc 1f", "mov $1, %eax; 1:")                                           \
	X(jrcxz, 0, "jrcxz 1f", "mov $1, %eax; 1:")                                     \
	X(call, 0, "call 1f", "1: pop %rax; xor %eax, %eax")                            \
	X(xchg_rdx, 0, "xchg %rax, %rdx", "")                                           \
	X(xchg_r8, 0, "xchg %rax, %r8", "")                                             \
	X(lock_inc, 0, "lock incl (%rdi)", "")                                          \
	X(rep_stosb, 0, "rep stosb", "")                                                \
	X(pcmpeqb, 0, "pcmpeqb %xmm1, %xmm0", "")                                       \
	X(pshufd, 0, "pshufd $3, %xmm1, %xmm0", "")                                     \
	X(movdqu_store, 0, "movdqu %xmm1, (%rdi)", "")                                  \
	X(pcmpistri, 0, "pcmpistri $2, %xmm0, %xmm1", "")                               \
	X(vzeroupper, 1, "vzeroupper", "")                                              \
	X(vpcmpeqb, 1, "vpcmpeqb %ymm1, %ymm0, %ymm0", "")                              \
	X(vpcmpeqb_rip, 1, "vpcmpeqb probe_state+128(%rip), %xmm1, %xmm0", "")          \
	X(vpshufd, 1, "vpshufd $3, %xmm1, %xmm0", "")                                   \
	X(vpsrlw, 1, "vpsrlw $4, %xmm1, %xmm0", "")                                     \
	X(vmovd_store, 1, "vmovd %xmm1, (%rdi)", "")                                    \
	X(vmovd_load, 1, "vmovd %esi, %xmm0", "")                                       \
	X(vmovdqa, 1, "vmovdqa %xmm1, %xmm0", "")                                       \
	X(vpor, 1, "vpor %xmm1, %xmm2, %xmm0", "")                                      \
	X(vpxor, 1, "vpxor %xmm1, %xmm2, %xmm0", "")                                    \
	X(vpsubsb, 1, "vpsubsb %xmm1, %xmm2, %xmm0", "")                                \
	X(vpsubsw, 1, "vpsubsw %xmm1, %xmm2, %xmm0", "")                                \
	X(vxorps, 1, "vxorps %xmm0, %xmm0, %xmm0", "")                                  \
	X(vaddps_rip, 1, "vaddps probe_state+128(%rip), %xmm1, %xmm0", "")              \
	X(vmovmskps, 1, "vmovmskps %xmm1, %eax", "")                                    \
	X(vmovups, 1, "vmovups %xmm1, %xmm0", "")                                       \
	X(vcmpps, 1, "vcmpeqps %xmm1, %xmm2, %xmm0", ".rept 16; nop; .endr")            \
	X(vpbroadcastb, 1, "vpbroadcastb %xmm1, %ymm0", "")                             \
	X(vpshufb, 1, "vpshufb %xmm1, %xmm2, %xmm0", "")                                \
	X(vpaddd_rip, 1, "vpaddd probe_state+128(%rip), %xmm1, %xmm0", "")              \
	X(shlx, 1, "shlx %rsi, %rdi, %rax", "")                                         \
	X(andn, 1, "andn %rsi, %rdi, %rax", "")                                         \
	X(bzhi, 1, "bzhi %rsi, %rdi, %rax", "")                                         \
	X(vfnmadd132sd, 1, "vfnmadd132sd %xmm1, %xmm2, %xmm0", "")                      \
	X(evex_vpbroadcastb, 2, "vpbroadcastb %esi, %ymm16", "vmovdqu64 %ymm16, %ymm0") \
	X(evex_vmovups, 2, "vmovups %ymm1, %ymm16", "vmovdqu64 %ymm16, %ymm0")          \
	X(evex_vpaddd, 2, "vpaddd %ymm1, %ymm0, %ymm16", "vmovdqu64 %ymm16, %ymm0")     \
	X(evex_vpxorq, 2, "vpxorq %ymm16, %ymm16, %ymm16", "vmovdqu64 %ymm16, %ymm0")   \
	X(kmovw, 2, "kmovw %k1, %k2", "kmovd %k2, %eax")

#define STUB(name, needs, insn, after)                                                        \
	extern const uint8_t stub_##name[];                                                   \
	__asm__(".text\n.p2align 5\n.globl stub_" #name "\nstub_" #name ": " insn "\n " after \
		"\n ret\n.rept 64\nint3\n.endr\n");
INSNS(STUB)

struct stub {
	const char *name;
	int needs;
	const uint8_t *code;
};

#define ROW(name, needs, insn, after) {#name, needs, stub_##name},
static const struct stub stubs[] = {INSNS(ROW)};

/* Known registers, then @code, then all of them into probe_state. */
void run_stub(const uint8_t *code);
__asm__(".text\n.globl run_stub\nrun_stub:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rbx\n"
	"mov %rdi, %rbp; lea probe_state(%rip), %r12\n"
	"movdqu 80(%r12), %xmm0; movdqu 112(%r12), %xmm1; movdqu 144(%r12), %xmm2\n"
	"lea 176(%r12), %rdi; mov $0x12345, %esi; mov $0x77, %edx; mov $9, %ecx\n"
	"mov $0x5a, %eax; mov $0x99, %r9d; mov $0x1111, %r8d; mov %rsp, %r13; stc\n"
	"call *%rbp\n"
	"pushf; pop %r14\n"
	"mov %rax, (%r12); mov %rcx, 8(%r12); mov %rdx, 16(%r12); mov %rsi, 24(%r12)\n"
	"mov %rdi, 32(%r12); mov %r8, 40(%r12); mov %r9, 48(%r12)\n"
	"mov %rsp, %r15; sub %r13, %r15; mov %r15, 64(%r12); mov %r14, 72(%r12)\n"
	"cmpl $0, has_avx(%rip); je 2f\n"
	"vmovdqu %ymm0, 80(%r12); vmovdqu %ymm1, 112(%r12); vmovdqu %ymm2, 144(%r12); jmp 3f\n"
	"2: movdqu %xmm0, 80(%r12); movdqu %xmm1, 112(%r12); movdqu %xmm2, 144(%r12)\n"
	"3: mov %r13, %rsp\n"
	"pop %rbx; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

int has_avx;

/* The flags that instructions set: all but the trap and resume flags and reserved bits. */
enum { STATUS_FLAGS = 0x8d5 };

static void set_up(void)
{
	uint8_t *bytes = probe_state.vectors[0];

	memset(&probe_state, 0, sizeof(probe_state));
	for (size_t i = 0; i < sizeof(probe_state.vectors); i++)
		bytes[i] = (uint8_t)(i * 7 + 3);
	memset(probe_state.memory, 'A', sizeof(probe_state.memory));
}

/* Run @code in a child. 0 and *@out, or the signal that ended it. */
static int run_in_child(const uint8_t *code, struct cpu_state *out)
{
	int ends[2], status;
	ssize_t got;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (child == 0) {
		alarm(10);
		set_up();
		run_stub(code);
		_exit(write(ends[1], &probe_state, sizeof(probe_state)) < 0);
	}
	close(ends[1]);
	got = read(ends[0], out, sizeof(*out));
	close(ends[0]);
	if (waitpid(child, &status, 0) != child)
		return -1;
	out->flags &= STATUS_FLAGS;
	return WIFSIGNALED(status) ? WTERMSIG(status) : got == sizeof(*out) ? 0 : -1;
}

/* A probe at @code of this process and its children: a descriptor, or -errno. */
static int probe(uint32_t type, const uint8_t *code)
{
	extern const uint8_t __executable_start[];
	struct perf_event_attr attr = {.size = sizeof(attr), .type = type, .inherit = 1};
	long fd;

	attr.sample_period = 1ULL << 62;
	attr.uprobe_path = (uintptr_t) "/proc/self/exe";
	attr.probe_offset = (uint64_t)(code - __executable_start);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static bool is_supported(int needs)
{
	if (needs == 2)
		return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
	return needs == 0 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
			      __builtin_cpu_supports("fma"));
}

enum verdict { RIGHT, WRONG, KILLED, REFUSED };
static const char *const verdicts[] = {"right", "WRONG", "KILLED", "refused"};

static enum verdict try_probe(uint32_t type, const uint8_t *code)
{
	struct cpu_state plain = {0}, probed = {0};
	int fd, signal;

	if (run_in_child(code, &plain))
		return RIGHT; /* this processor does not have it after all */
	fd = probe(type, code);
	if (fd < 0)
		return REFUSED;
	signal = run_in_child(code, &probed);
	close(fd);
	if (signal)
		return KILLED;
	return memcmp(&plain, &probed, sizeof(plain)) ? WRONG : RIGHT;
}

static int read_type(uint32_t *out)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int got = file ? fscanf(file, "%u", out) : 0;

	if (file)
		fclose(file);
	return got == 1 ? 0 : -1;
}

int main(void)
{
	static const char *const classes[] = {"emulated", "stepped", "refused", "mishandled"};
	unsigned int cnt = 0, wrong = 0, failed = 0;
	uint32_t type;
	int fd = read_type(&type) ? -1 : probe(type, stub_nop);

	if (fd < 0) {
		puts("uprobes cannot be opened here");
		return 77;
	}
	close(fd);
	has_avx = __builtin_cpu_supports("avx2") != 0;
	for (size_t i = 0; i < sizeof(stubs) / sizeof(*stubs); i++) {
		enum verdict verdict;
		struct insn insn;
		bool is_allowed;

		if (!is_supported(stubs[i].needs))
			continue;
		if (insn_x86_decode(stubs[i].code, 16, 0, &insn))
			return 1;
		is_allowed = insn.probe == PROBE_EMULATED || insn.probe == PROBE_STEPPED;
		verdict = try_probe(type, stubs[i].code);
		printf("%-18s decoded as %-10s kernel: %s%s\n", stubs[i].name, classes[insn.probe],
		       verdicts[verdict],
		       is_allowed && verdict != RIGHT ? "  <- not as decoded" : "");
		failed += is_allowed && verdict != RIGHT;
		wrong += verdict == WRONG || verdict == KILLED;
		cnt++;
	}
	printf("%u instructions: the kernel executes %u wrongly, %u of them allowed\n", cnt, wrong,
	       failed);
	return failed != 0;
}
#endif
