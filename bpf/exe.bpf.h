/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Executables: from a VMA's file to a small id, and one event to userspace when it is new. Ids are
 * handed out without any shared counter: slot k of n gives k, k + n, k + 2n, ... above
 * BP_EXE_FIRST, and a slot has one owner at a time.
 */
#ifndef BPFPROF_EXE_BPF_H
#define BPFPROF_EXE_BPF_H

enum { INODE_BYTES = 128 };

/* Read the identity of @inode into the slot. All but the device is in the inode's first
 * INODE_BYTES, on older kernels all but the generation as well. */
static __always_inline bool exe_key_read(struct bp_scratch *s, struct inode *inode)
{
	__u32 generation_off = INODE_OFF(inode, i_generation);
	struct bp_exe_key *key = &s->exe_key;
	struct super_block *sb;

	if (bpf_probe_read_kernel(s->inode, INODE_BYTES, inode))
		return false;
	sb = (void *)copy_word(s->inode, INODE_OFF(inode, i_sb));
	key->ino = copy_word(s->inode, INODE_OFF(inode, i_ino));
	key->size_bytes = copy_word(s->inode, INODE_OFF(inode, i_size));
	key->dev = BPF_CORE_READ(sb, s_dev);
	key->generation = generation_off <= INODE_BYTES - sizeof(__u32)
				  ? copy_half(s->inode, generation_off)
				  : BPF_CORE_READ(inode, i_generation);
	key->pad = 0;
	compat_inode_mtime(s->inode, key);
	return true;
}

/* One step towards the root, through mount points. Returns 0 at the root. */
static __always_inline int path_up(struct dentry **dentry, struct vfsmount **mnt)
{
	struct dentry *parent = BPF_CORE_READ(*dentry, d_parent);

	if (*dentry == BPF_CORE_READ(*mnt, mnt_root) || parent == *dentry) {
		struct mount *mount = (void *)*mnt - bpf_core_field_offset(struct mount, mnt);
		struct mount *up = BPF_CORE_READ(mount, mnt_parent);

		if (!up || up == mount)
			return 0;
		*dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		*mnt = (void *)up + bpf_core_field_offset(struct mount, mnt);
		return 1;
	}
	*dentry = parent;
	return 1;
}

/*
 * Append the name of the component the walk stands on to the event and step up. 0 when there is no
 * more. Global, with its state in the slot: inlined in a loop, the growing length would make the
 * verifier follow every sum.
 */
__noinline int exe_path_part(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct dentry *dentry;
	struct vfsmount *mnt;
	__u32 used;
	long len;
	int more;

	if (!s)
		return 0;
	dentry = s->path_dentry;
	mnt = s->path_mnt;
	used = s->exe_event.path_bytes;
	if (used > BP_PATH_BYTES - BP_NAME_BYTES)
		return 0;
	/* A mount point stands for its root, whose own name is empty. */
	if (dentry != BPF_CORE_READ(mnt, mnt_root)) {
		len = bpf_probe_read_kernel_str(s->exe_event.path + used, BP_NAME_BYTES,
						BPF_CORE_READ(dentry, d_name.name));
		if (len > 0)
			s->exe_event.path_bytes = used + len;
	}
	more = path_up(&dentry, &mnt);
	s->path_dentry = dentry;
	s->path_mnt = mnt;
	return more;
}

/* Write @file's path into the event, components leaf first. */
static __always_inline void exe_path_read(__u32 slot, struct bp_scratch *s, struct file *file)
{
	s->exe_event.path_bytes = 0;
	s->path_dentry = BPF_CORE_READ(file, f_path.dentry);
	s->path_mnt = BPF_CORE_READ(file, f_path.mnt);
	for (int i = 0; i < BP_PATH_PARTS; i++)
		if (!exe_path_part(slot))
			break;
}

/* Tell userspace. @exe stays unannounced when the ring is full: the next sample tries again. */
static __always_inline void exe_announce(__u32 slot, struct bp_scratch *s, struct bp_exe *exe,
					 struct file *file)
{
	struct bp_exe_event *event = &s->exe_event;
	__u32 path_bytes;

	event->type = BP_RING_EXE;
	event->id = exe->id;
	event->tgid = current_tgid();
	event->vma_start = VMA_WORD(s->vma, vm_start);
	event->vma_end = VMA_WORD(s->vma, vm_end);
	event->file_off = VMA_WORD(s->vma, vm_pgoff) << 12;
	event->key = s->exe_key;
	event->head_bytes = bpf_probe_read_user(event->head, sizeof(event->head),
						(void *)(event->vma_start - event->file_off))
				    ? 0
				    : sizeof(event->head);
	exe_path_read(slot, s, file);
	path_bytes = event->path_bytes;
	if (path_bytes > BP_PATH_BYTES)
		return;
	if (!bpf_ringbuf_output(&ring, event, offsetof(struct bp_exe_event, path) + path_bytes, 0))
		exe->is_announced = 1;
}

/* The id of the file of the VMA in the slot, new or known; BP_EXE_NONE when the table has no room.
 */
__noinline int exe_id(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_exe *exe, new = {};
	struct file *file;

	if (!s)
		return BP_EXE_NONE;
	file = (void *)VMA_WORD(s->vma, vm_file);
	if (!exe_key_read(s, BPF_CORE_READ(file, f_inode)))
		return BP_EXE_NONE;
	exe = bpf_map_lookup_elem(&exes, &s->exe_key);
	if (!exe) {
		__u64 id = BP_EXE_FIRST + slot + s->exe_seq * cfg.exe_stride;

		if (id > BP_EXE_MAX)
			return BP_EXE_NONE;
		new.id = id;
		if (!bpf_map_update_elem(&exes, &s->exe_key, &new, BPF_NOEXIST))
			s->exe_seq++;
		exe = bpf_map_lookup_elem(&exes, &s->exe_key);
		if (!exe)
			return BP_EXE_NONE;
	}
	if (!exe->is_announced)
		exe_announce(slot, s, exe, file);
	s->exe_is_announced = exe->is_announced;
	s->rows = exe->rows;
	return exe->id;
}

#endif
