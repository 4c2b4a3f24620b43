#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs of other roots and mount namespaces are named by their own files, with lines and inlined calls, although
# another file lies at the same path here: chroot, pivot_root, overlayfs, bind and loop mounts, user namespaces.
# timeout: 400
# beside others
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin
at=$TMPDIR/shared # the same path in all roots
root=$TMPDIR/root # where new roots are mounted

# make_pair FUNCTION FOLDER DEBUG_FOLDER: program and library.so, which has FUNCTION, stripped; what was split off
# them goes to DEBUG_FOLDER/.build-id/XX/YYYY.debug. FOLDER.whole has both as they were before.
make_pair()
{
	local function=$1 folder=$2 debug=$3 file id
	mkdir -p "$folder"
	busy "$function" -DLIBRARY -fPIC -shared -Wl,-soname,"$at/library.so"
	compile program busy.c -DBUSY="$function" -DCALLS -Wl,--no-as-needed "$bin/$function"
	mv "$bin/$function" "$folder/library.so"
	mv "$bin/program" "$folder/program"
	cp -r "$folder" "$folder.whole"
	for file in program library.so; do
		id=$(build_id "$folder/$file")
		mkdir -p "$debug/.build-id/${id:0:2}"
		objcopy --only-keep-debug "$folder/$file" "$debug/.build-id/${id:0:2}/${id:2}.debug" >>"$log" 2>&1 &&
			strip "$folder/$file" >>"$log" 2>&1 || return
	done
}

# What a dynamically linked program needs, and a shell that needs nothing.
make_base()
{
	local file
	mkdir -p "$1/bin" "$1/proc" "$1/old" "$1$at" "$1/usr/lib"
	cp "$(PATH=$PATH:/usr/sbin:/sbin command -v busybox)" "$1/bin/busybox" || return
	for file in $(ldd /bin/true | grep -o '/[^ ]*'); do
		mkdir -p "$1$(dirname "$file")"
		cp -L "$file" "$1$file" || return
	done
}

# as_script NAME: from the standard input into $TMPDIR/bin
as_script()
{
	{ echo '#!/bin/sh -e'; cat; } >"$bin/$1"
	chmod +x "$bin/$1"
}

# right NAME COMMAND...: recorded, the library of the other root has its names and lines, and what is here has none.
right()
{
	local name=$1
	shift
	recorded "$name" "$name" -F 499 -o "$TMPDIR/out/$name.pb.gz" --force -- "$@"
	check "$name: the function has its own name, and what is inlined" busy_frames inside "$name" program
	check "$name: and its lines" busy_lines "$name" inside
	check "$name: nothing is named by the files that are here" has_no outside "$name"
	check "$name: the build-id is its own" mapped "$name" "$TMPDIR/inside/library.so" "library.so "
}

if ! have go; then
	skip "other roots" "there is no go, whose pprof reads the lines"
	exit 0
fi
if ! unshare --mount --pid --fork true 2>>"$log"; then
	skip "other roots" "no mount namespaces"
	exit 0
fi

mkdir "$root"
make_pair outside "$at" "$TMPDIR/outside_debug"
verdict $? "a program and a library for this root"
make_pair inside "$TMPDIR/inside" "$TMPDIR/inside_debug"
verdict $? "another build of both"
make_base "$TMPDIR/base"
verdict $? "what a root needs"

# --- A root of its own ---

as_script fill_root <<END
mount -t tmpfs none "$root"
cp -r "$TMPDIR/base/." "$root"
cp "$TMPDIR/inside/program" "$TMPDIR/inside/library.so" "$root$at"
cp -r "$TMPDIR/inside_debug" "$root/usr/lib/debug"
END
as_script chrooted <<END
fill_root
exec chroot "$root" "$at/program" 0.6
END
right chroot unshare --mount --pid --fork chrooted

as_script pivoted <<END
fill_root
cd "$root"
pivot_root . old
exec /bin/busybox chroot . /bin/busybox sh -c '/bin/busybox umount -l /old && exec "$at/program" 0.6'
END
right pivot_root unshare --mount --pid --fork pivoted

# Started before, and in the midst of it at the end.
as_script chrooted_long <<END
fill_root
exec chroot "$root" "$at/program" 60
END
load unshare --mount --pid --fork --kill-child chrooted_long
for _ in $(seq 200); do
	inner=$(pgrep -x -P "$load" program) && break
	sleep 0.1
done
recorded attached "attached" -p "${inner:-1}" -F 499 -d 3 -o "$TMPDIR/out/attached.pb.gz"
check "attached: the function has its own name, and what is inlined" busy_frames inside attached program
check "attached: and its lines" busy_lines attached inside
# The first process of a pid namespace passes over any other signal.
kill -KILL "$inner"
stop_loads

# --- A root in layers, as containers have ---

as_script layered <<END
mount -t tmpfs none "$root"
mkdir -p "$root/lower$at" "$root/upper$at" "$root/work" "$root/merged"
cp -r "$TMPDIR/base/." "$root/lower"
cp "$at/program" "$at/library.so" "$root/lower$at"
cp "$TMPDIR/inside/program" "$root/upper$at"
mount -t overlay -o "lowerdir=$root/lower,upperdir=$root/upper,workdir=$root/work,xino=on" none "$root/merged"
cp "$TMPDIR/inside/library.so" "$root/merged$at"
cp -r "$TMPDIR/inside_debug" "$root/merged/usr/lib/debug"
exec chroot "$root/merged" "$at/program" 0.6
END
if ! grep -q overlay /proc/filesystems && ! modprobe overlay 2>>"$log"; then
	skip "overlayfs" "the kernel has none"
else
	right overlay unshare --mount --pid --fork layered
fi

# --- Files and images over what is here ---

as_script bound <<END
mount --bind "$TMPDIR/inside.whole/program" "$at/program"
mount --bind "$TMPDIR/inside.whole/library.so" "$at/library.so"
exec "$at/program" 0.6
END
right bind_mount unshare --mount --pid --fork bound

as_script from_image <<END
mount -o loop,ro "$TMPDIR/image" "$at"
exec "$at/program" 0.6
END
truncate -s 8M "$TMPDIR/image"
PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q -d "$TMPDIR/inside.whole" "$TMPDIR/image" >>"$log" 2>&1
verdict $? "an image with a file system"
if ! unshare --mount mount -o loop,ro "$TMPDIR/image" "$at" 2>>"$log"; then
	skip "loop mount" "no loop devices"
else
	right loop_mount unshare --mount --pid --fork from_image
fi

# --- A user namespace, made by somebody who is not root ---

chmod -R a+rX "$TMPDIR/base" "$TMPDIR/inside" "$TMPDIR/inside_debug" "$at"
if ! setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount true 2>>"$log"; then
	skip "user namespace" "only for root here"
else
	right user_namespace setpriv --reuid=65534 --regid=65534 --clear-groups \
		unshare --user --map-root-user --mount --pid --fork chrooted
fi
exit $status
