#!/bin/sh
# Puts what a node needs before any container runs into one folder, and ties it to kubelet.service.
#
#   install.sh [install] [--reregister | --no-reregister] [--prefix DIR] [--root DIR]
#   install.sh verify
#   install.sh uninstall [--prefix DIR] [--root DIR]
#
# --prefix DIR    the folder; default /opt/mooring, or the one that this script is installed in
# --root DIR      work on the file system below DIR, as when an image is built: nothing is started or reloaded
# --reregister    also install and enable the timer that restarts the kubelet when its Node object is gone
#
# Each step is safe to repeat and leaves the previous installation whole. Outside the folder it changes or removes only
# files that this script wrote and that are unchanged since; PREFIX/installed lists them.
# Exit codes: 0 done, 1 failed, 2 bad argument.
set -euf
umask 022
LC_ALL=C
export LC_ALL

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
prefix=
root=
reregister=
work=

dropin=/etc/systemd/system/kubelet.service.d/99-mooring.conf
settings=/etc/mooring/kubelet.conf
service=/etc/systemd/system/mooring-reregister.service
timer=/etc/systemd/system/mooring-reregister.timer

say() {
	printf '%s\n' "$*"
}

warn() {
	printf 'install.sh: %s\n' "$*" >&2
}

fail() {
	warn "$1"
	exit "${2:-1}"
}

# shellcheck disable=SC2317
cleanup() {
	[ -z "$work" ] || rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

sha_of() {
	sha256sum <"$1" | cut -d ' ' -f 1
}

# What the package holds, one path a line; the list itself comes on top.
listed() {
	sed 's/^[0-9a-f]*  //' "$1/SHA256SUMS"
	echo SHA256SUMS
}

# A list that names anything but files inside is no list of ours. grep's answer 1 is "no such line".
well_formed() {
	[ -s "$1/SHA256SUMS" ] || return 1
	# shellcheck disable=SC1003
	! grep -Ev '^[0-9a-f]{64}  [A-Za-z0-9][A-Za-z0-9._/-]*$' "$1/SHA256SUMS" >/dev/null &&
		! grep -F '..' "$1/SHA256SUMS" >/dev/null
}

# Every listed file of a folder is as its list says.
verify() {
	[ -f "$1/SHA256SUMS" ] || fail "$1 has no SHA256SUMS: this is no package, or a broken one"
	well_formed "$1" || fail "$1/SHA256SUMS is broken: unpack the package again"
	(cd "$1" && sha256sum --check --quiet --strict SHA256SUMS >&2) ||
		fail "$1 is not as its SHA256SUMS says: unpack the package again"
}

intact() {
	well_formed "$1" && (cd "$1" && sha256sum --check --status --strict SHA256SUMS 2>/dev/null)
}

# ---- PREFIX/installed: "file SHA256 PATH" for each file outside that is ours, "dir PATH" for each folder made for it.

recorded_sha() {
	[ ! -f "$state" ] || awk -v path="$1" '$1 == "file" && $3 == path { print $2 }' "$state"
}

# Written before the thing itself, so that nothing of ours can be left that is not on record.
record() {
	{
		[ ! -f "$state" ] || awk -v path="$2" '$NF != path' "$state"
		case $1 in
			file) printf 'file %s %s\n' "$3" "$2" ;;
			dir) printf 'dir %s\n' "$2" ;;
		esac
	} >"$state.new" && mv -f -- "$state.new" "$state"
}

# Makes a folder below the root and remembers which of its parts are ours.
make_dir() {
	[ ! -d "$root$1" ] || return 0
	make_dir "$(dirname -- "$1")"
	record dir "$1"
	mkdir -- "$root$1"
}

# 0: no file, or ours unchanged. 1: ours, but changed. 2: it never was ours.
standing() {
	[ -e "$root$1" ] || [ -L "$root$1" ] || return 0
	sha=$(recorded_sha "$1")
	[ -n "$sha" ] || return 2
	[ ! -L "$root$1" ] && [ "$(sha_of "$root$1")" = "$sha" ] || return 1
}

# place PATH SOURCE: writes SOURCE there, unless our file there was changed.
place() {
	code=0
	standing "$1" || code=$?
	if [ "$code" = 1 ]; then
		warn "$1 was changed since it was written: it stays as it is"
		return 0
	fi
	if [ "$code" = 0 ] && [ -e "$root$1" ] && cmp -s "$2" "$root$1"; then return 0; fi
	make_dir "$(dirname -- "$1")"
	cp -- "$2" "$root$1.mooring-new"
	chmod 0644 -- "$root$1.mooring-new"
	record file "$1" "$(sha_of "$2")"
	mv -f -- "$root$1.mooring-new" "$root$1"
	say "wrote $1"
}

# take_away PATH: removes it if it is as we wrote it.
take_away() {
	[ -n "$(recorded_sha "$1")" ] || return 0
	code=0
	standing "$1" || code=$?
	if [ "$code" = 0 ]; then
		if [ -e "$root$1" ]; then
			rm -f -- "$root$1"
			say "removed $1"
		fi
	else
		warn "$1 was changed since it was written: it stays"
	fi
	record gone "$1"
}

rendered() {
	sed "s#@PREFIX@#$prefix#g" "$here/units/$1.in" >"$work/$1"
	printf '%s\n' "$work/$1"
}

# Removes the listed files of a release, then its folders as far as they are empty: other people's files stay.
remove_release() {
	if [ -f "$1/SHA256SUMS" ] && well_formed "$1"; then
		listed "$1" >"$state.listed"
		while IFS= read -r path; do rm -f -- "$1/$path"; done <"$state.listed"
		rm -f -- "$state.listed"
	fi
	find "$1" -depth -type d -exec rmdir -- {} + 2>/dev/null || warn "$1 holds files that are not ours: they stay"
}

# ---- systemd, where there is one that is running and ours to speak to

running_systemd() {
	[ -z "$root" ] && [ -d /run/systemd/system ] && command -v systemctl >/dev/null
}

reload() {
	! running_systemd || systemctl daemon-reload || warn 'systemctl daemon-reload failed: run it yourself'
}

enable_timer() {
	if [ -n "$root" ]; then
		systemctl --root="$root" --quiet enable mooring-reregister.timer || fail 'cannot enable mooring-reregister.timer'
	elif running_systemd; then
		systemctl --quiet enable --now mooring-reregister.timer || fail 'cannot enable mooring-reregister.timer'
	else
		warn 'there is no systemd running: enable mooring-reregister.timer yourself'
	fi
}

disable_timer() {
	[ -n "$(recorded_sha "$timer")" ] || return 0
	if [ -n "$root" ]; then
		systemctl --root="$root" --quiet disable mooring-reregister.timer || warn 'cannot disable mooring-reregister.timer'
	elif running_systemd; then
		systemctl --quiet disable --now mooring-reregister.timer || warn 'cannot disable mooring-reregister.timer'
	fi
}

# Our arguments reach the kubelet through a variable that its command line must name.
check_kubelet_unit() {
	running_systemd || return 0
	variable=$(sed -n 's/^MOORING_VARIABLE=//p' "$settings" 2>/dev/null | tail -n 1 | tr -d "\"'")
	variable=${variable:-KUBELET_EXTRA_ARGS}
	if ! systemctl cat kubelet.service >/dev/null 2>&1; then
		say 'There is no kubelet.service yet: it will find these settings when it comes.'
	elif ! systemctl show --property=ExecStart kubelet.service | grep -E "[$]$variable( |\$)" >/dev/null; then
		warn "the ExecStart of kubelet.service does not name \$$variable: see README.md, \"A kubelet without kubeadm\""
	fi
}

# ---- commands

install() {
	verify "$here"
	id=$(cat "$here/VERSION")-$(sha_of "$here/SHA256SUMS" | cut -c 1-12)
	# In an image for another kind of machine it cannot run.
	if [ -z "$root" ]; then
		if ! "$here/bin/node" --version >/dev/null 2>&1; then
			needs='take the package for its architecture; glibc 2.28 or later is needed, and a file system without noexec'
			fail "$here/bin/node does not run on this machine ($(uname -m)): $needs"
		fi
	fi
	if [ -e "$base" ] && [ ! -f "$state" ] && [ -n "$(ls -A "$base" 2>/dev/null)" ]; then
		fail "$prefix is not empty and not ours: choose another folder with --prefix"
	fi
	for path in "$dropin" "$service" "$timer"; do
		code=0
		standing "$path" || code=$?
		[ "$code" != 2 ] || fail "$path is there already and not ours: move it away first"
	done

	mkdir -p -- "$base/releases" || fail "cannot write in $prefix: choose another folder with --prefix"
	[ -w "$base/releases" ] || fail "cannot write in $prefix: choose another folder with --prefix"
	exec 9<"$base"
	! command -v flock >/dev/null || flock -n 9 || fail 'another install.sh is at work'
	[ -f "$state" ] || : >"$state" || fail "cannot write in $prefix"
	# Of a run that was cut off.
	find "$base" -maxdepth 1 -name '.work.*' -exec rm -rf -- {} +
	work=$(mktemp -d "$base/.work.XXXXXX") || fail "cannot write in $prefix"

	release=$base/releases/$id
	if [ "$here" = "$release" ]; then
		say "$id is at its place"
	elif intact "$release"; then
		say "$id is installed already"
	else
		mkdir -- "$work/release"
		listed "$here" >"$work/listed"
		while IFS= read -r path; do
			mkdir -p -- "$work/release/$(dirname -- "$path")"
			cp -p -- "$here/$path" "$work/release/$path"
		done <"$work/listed"
		chown -R "$(id -u):$(id -g)" "$work/release"
		chmod -R u+w,go-w,a+rX "$work/release"
		# What counts is what arrived: the disk may be full or broken.
		intact "$work/release" || fail "copying to $prefix failed"
		[ ! -e "$release" ] || mv -- "$release" "$work/broken"
		mv -- "$work/release" "$release"
		! command -v restorecon >/dev/null || restorecon -R "$release" || true
		say "installed $id in $prefix"
	fi
	ln -s "releases/$id" "$work/current"
	mv -fT -- "$work/current" "$base/current"

	code=0
	standing "$settings" || code=$?
	# This one is made to be changed, and may have been there before us.
	[ "$code" != 0 ] || place "$settings" "$here/kubelet.conf"
	place "$dropin" "$(rendered 99-mooring.conf)"
	[ -n "$reregister" ] || [ -z "$(recorded_sha "$timer")" ] || reregister=yes
	if [ "$reregister" = yes ]; then
		place "$service" "$(rendered mooring-reregister.service)"
		place "$timer" "$(rendered mooring-reregister.timer)"
	else
		disable_timer
		take_away "$timer"
		take_away "$service"
	fi
	reload
	[ "$reregister" != yes ] || enable_timer

	set +f
	for other in "$base"/releases/*; do
		[ "$other" = "$release" ] || remove_release "$other"
	done
	set -f
	check_kubelet_unit
	say 'The kubelet takes part from its next start on: systemctl restart kubelet'
}

uninstall() {
	[ -f "$state" ] || {
		say "nothing is installed in $prefix"
		return 0
	}
	disable_timer
	for path in "$timer" "$service" "$dropin" "$settings"; do take_away "$path"; done
	reload
	[ -n "$root" ] || rm -rf -- /run/mooring/kubelet.env /run/mooring/kubelet.env.last /run/mooring-reregister
	[ -n "$root" ] || rmdir -- /run/mooring 2>/dev/null || true
	rm -f -- "$base/current"
	set +f
	for other in "$base"/releases/*; do
		[ ! -d "$other" ] || remove_release "$other"
	done
	set -f
	# Innermost last on record, so outermost first: the other way round.
	sed -n 's/^dir //p' "$state" | sort -r >"$base/.dirs"
	while IFS= read -r path; do rmdir -- "$root$path" 2>/dev/null || true; done <"$base/.dirs"
	rm -f -- "$base/.dirs" "$state"
	rmdir -- "$base/releases" 2>/dev/null || true
	rmdir -- "$base" 2>/dev/null || warn "$prefix is not empty: what is not ours stays"
	say 'uninstalled; the kubelet starts without arguments of ours from its next start on'
}

command=install
case ${1:-} in
	install | verify | uninstall)
		command=$1
		shift
		;;
esac
while [ $# -gt 0 ]; do
	case $1 in
		--prefix=*) prefix=${1#*=} ;;
		--root=*) root=${1#*=} ;;
		--prefix | --root)
			[ $# -gt 1 ] || fail "$1: expected a folder" 2
			if [ "$1" = --prefix ]; then prefix=$2; else root=$2; fi
			shift
			;;
		--reregister) reregister=yes ;;
		--no-reregister) reregister=no ;;
		-h | --help)
			sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
			exit 0
			;;
		*) fail "\"$1\", expected one of --prefix, --root, --reregister, --no-reregister, --help" 2 ;;
	esac
	shift
done
root=${root%/}
case $root in
	'') ;;
	/*) [ -d "$root" ] || fail "--root: \"$root\" is no folder" 2 ;;
	*) fail "--root: \"$root\", expected an absolute path" 2 ;;
esac
# Run from where it is installed it means that installation.
if [ -z "$prefix" ]; then
	prefix=/opt/mooring
	case $here in
		"$root"/*/releases/*)
			found=${here%/releases/*}
			[ ! -f "$found/installed" ] || prefix=${found#"$root"}
			;;
	esac
fi
# It stands in unit files and in lists of ours.
case $prefix in
	/ | *[!A-Za-z0-9._/-]* | *..* | *//* | */)
		fail "--prefix: \"$prefix\", expected an absolute path of letters, digits, . _ - and /" 2
		;;
	/*) ;;
	*) fail "--prefix: \"$prefix\", expected an absolute path" 2 ;;
esac
base=$root$prefix
state=$base/installed

case $command in
	install) install ;;
	verify) verify "$here" && say "$here is as its SHA256SUMS says" ;;
	uninstall) uninstall ;;
esac
exit 0
