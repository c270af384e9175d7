#!/bin/sh
# A machine without containers: the programs of this one below /usr, everything else empty, and a systemd of its own.
# Arguments: an empty folder for its root, a cgroup v2 folder of its own. Ends when its systemd ends.
set -eu
root=$1
echo $$ >"$2/cgroup.procs"

# shellcheck disable=SC2016
exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc sh -euc '
	root=$1
	mount --make-rprivate /
	mount -t tmpfs -o mode=755 tmpfs "$root"
	cd "$root"
	mkdir -p usr etc/systemd/system etc/default opt root var/lib var/log run tmp proc sys dev
	for name in bin sbin lib lib64; do
		if [ -L "/$name" ]; then
			ln -s "usr/$name" "$name"
		elif [ -d "/$name" ]; then
			mkdir "$name"
			mount --bind -o ro "/$name" "$name"
		fi
	done
	mount --bind /usr usr
	mount -o remount,ro,bind usr
	# Debian keeps awk and others behind links there.
	[ ! -d /etc/alternatives ] || cp -a /etc/alternatives etc/
	mount -t tmpfs -o mode=755 tmpfs run
	mount -t sysfs sysfs sys
	mount -t proc proc proc
	mount -t tmpfs -o mode=755 tmpfs dev
	for name in null zero full random urandom tty; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
	mkdir dev/shm dev/pts
	echo 0123456789abcdef0123456789abcdef >etc/machine-id
	echo "root:x:0:0:root:/root:/bin/sh" >etc/passwd
	echo "root:x:0:" >etc/group
	printf "[Unit]\nWants=sysinit.target timers.target\nAfter=sysinit.target timers.target\n" \
		>etc/systemd/system/test.target
	# What a systemd does to a machine at start is not wanted here.
	for unit in sysinit.target local-fs.target basic.target network-online.target; do
		printf "[Unit]\nDefaultDependencies=no\n" >"etc/systemd/system/$unit"
	done
	printf "[Unit]\nDefaultDependencies=no\n" >etc/systemd/system/timers.target
	exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . \
		/lib/systemd/systemd --unit=test.target --log-target=console --show-status=no
' sh "$root"
