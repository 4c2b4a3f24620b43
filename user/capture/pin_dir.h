/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder on a bpf file system that keeps maps, programs and links when their process ends:
 *
 *	/sys/fs/bpf/bpfprof/		root's, 0700; locked by who records with it
 *		v1-5f0c8a3e/		of one layout of what is in the maps
 *			map_ctl, ...
 *
 * Names are looked up from the folder's descriptor, never by a path that somebody could have bent:
 * no component may be a symbolic link.
 */
#ifndef BPFPROF_CAPTURE_PIN_DIR_H
#define BPFPROF_CAPTURE_PIN_DIR_H

#include <stdbool.h>

/*
 * Open the folder @path, which must be absolute; with @may_make it is made where it is not there,
 * and a bpf file system mounted on /sys/fs/bpf where there is none. Descriptor, *owned*, or
 * negative errno after log_error(): -EBUSY another process records with it, -EPERM it is not
 * root's alone, -ELOOP a symbolic link, -EMEDIUMTYPE not on a bpf file system. -ENOENT without
 * @may_make is not logged.
 */
int pin_dir_open(const char *path, bool may_make);

/* Its folder @name, made where it is not there. Descriptor, *owned*, or negative errno. */
int pin_dir_sub(int base_fd, const char *name);

/* The same, where it is there; -ENOENT. */
int pin_dir_find(int base_fd, const char *name);

/* Its folder @from is called @to from now on; there may be none of that name. 0 or negative errno.
 */
int pin_dir_rename(int base_fd, const char *from, const char *to);

/* Remove its folder @name with all pins in it: what they alone kept ends. 0 or negative errno. */
int pin_dir_remove(int base_fd, const char *name);

/* Call @each with the name of every folder in it until that is not 0, which is returned; negative
 * errno. */
typedef int pin_dir_fn(void *arg, const char *name);
int pin_dir_each(int base_fd, pin_dir_fn *each, void *arg);

/* Pin @obj_fd (borrowed) as @name, which may not be there. 0 or negative errno. */
int pin_put(int dir_fd, const char *name, int obj_fd);

/* What is pinned as @name: descriptor, *owned*, or negative errno. */
int pin_get(int dir_fd, const char *name);

bool pin_is_there(int dir_fd, const char *name);
int pin_drop(int dir_fd, const char *name); /* 0 or negative errno */

#endif
