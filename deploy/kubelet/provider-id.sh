#!/bin/sh
# Runs before the kubelet starts, twice:
#   provider-id.sh reset   takes the environment file of the last start out of the way
#   provider-id.sh write   asks the agent for the providerID and writes the environment file
#
# A providerID is set once in a Node's life, so a wrong one is worse than none: a doubtful one is not written, and the
# reason goes to stderr, which is the kubelet's journal. Exit code 0 lets the kubelet start, 1 (MOORING_REQUIRED=true)
# does not.
# Settings: /etc/mooring/kubelet.conf.
set -euf
umask 022
LC_ALL=C
export LC_ALL

run=${MOORING_RUN:-/run/mooring}
file=$run/kubelet.env
last=$run/kubelet.env.last
variable=${MOORING_VARIABLE:-KUBELET_EXTRA_ARGS}
seconds=${MOORING_TIMEOUT:-30}
required=${MOORING_REQUIRED:-false}
agent_args=${MOORING_AGENT_ARGS:-}
new=
decided=
current=

say() {
	printf 'mooring: %s\n' "$*" >&2
}

# A command that failed unforeseen is one more doubt: it must not keep the kubelet from starting either.
finish() {
	status=$?
	[ -z "$new" ] || rm -f -- "$new"
	if [ -z "$decided" ] && [ "$status" != 0 ] && [ "$required" != true ]; then
		say "a command failed (exit code $status): the kubelet starts without arguments of ours"
		exit 0
	fi
}
trap finish EXIT

boot=$(cat /proc/sys/kernel/random/boot_id)
home=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)

# Ends without anything written.
doubt() {
	say "$1"
	decided=yes
	if [ "$required" = true ]; then
		say 'MOORING_REQUIRED=true: the kubelet does not start'
		exit 1
	fi
	say 'the kubelet starts without arguments of ours; the controller can still find this machine'
	exit 0
}

check_settings() {
	case $required in
		true | false) ;;
		*)
			bad=$required
			required=false
			doubt "MOORING_REQUIRED: \"$bad\", expected true or false"
			;;
	esac
	case $variable in
		'' | [0-9]* | *[!A-Za-z0-9_]*) doubt "MOORING_VARIABLE: \"$variable\", expected the name of a variable" ;;
	esac
	case $seconds in
		[1-9] | [1-5][0-9] | 60) ;;
		*) doubt "MOORING_TIMEOUT: \"$seconds\", expected whole seconds from 1 to 60" ;;
	esac
	case $agent_args in
		*'
'*) doubt 'MOORING_AGENT_ARGS: expected one line' ;;
	esac
}

# Arguments, one a line, that systemd would split and pass on as they are: one --provider-id first, then others of ours.
acceptable() {
	[ "${#1}" -le 2048 ] || return 1
	lines=0
	while IFS= read -r line; do
		lines=$((lines + 1))
		# No blank, quote, backslash or dollar: what is left needs no quoting anywhere.
		case $line in
			*[!A-Za-z0-9._:/,@%+~=\(\)-]*) return 1 ;;
			--provider-id=?*) [ "$lines" = 1 ] || return 1 ;;
			--hostname-override=?* | --node-ip=?*) [ "$lines" -gt 1 ] || return 1 ;;
			*) return 1 ;;
		esac
	done <<LINES
$1
LINES
}

# As the text of a double-quoted value in an environment file.
quoted() {
	# shellcheck disable=SC2016
	printf '%s' "$1" | sed 's/[\\"$`]/\\&/g'
}

# A value of the last start's file, if that was in this boot: an image of this machine may carry the file along.
remembered() {
	[ -f "$last" ] && [ "$(sed -n '1s/^# boot //p' "$last")" = "$boot" ] || return 0
	sed -n "s/^$1=\"\\(.*\\)\"\$/\\1/p" "$last"
}

reset() {
	[ -e "$file" ] || return 0
	mv -f -- "$file" "$last" || say "cannot take $file out of the way"
}

# Only the agent knows what it found; its reason goes to stderr. No variable of the kubelet's reaches it.
ask() {
	# Both sets of arguments are split on purpose: none of ours can hold a blank.
	# shellcheck disable=SC2086
	timeout -k 2 "$(($1 + 3))" \
		env -i PATH="$PATH" ${OS_CCM_REGIONAL:+"OS_CCM_REGIONAL=$OS_CCM_REGIONAL"} \
		"$home/bin/node" "$home/lib/agent.cjs" provider-id --output=kubelet-args "--timeout=${1}s" $agent_args </dev/null
}

# Leaves out each argument that the kubelet is given already: a person's word goes before ours.
without_given() {
	given="$current ${KUBELET_KUBEADM_ARGS:-} "
	separator=
	while IFS= read -r line; do
		case $given in
			*"${line%%=*}"[=[:space:]]*) say "${line%%=*} is among the kubelet's own arguments already: left alone" ;;
			*)
				printf '%s%s' "$separator" "$line"
				separator=' '
				;;
		esac
	done <<LINES
$1
LINES
}

write() {
	check_settings
	[ ! -e "$file" ] || doubt "$file could not be taken out of the way"
	eval "current=\${$variable:-}"
	case $current in
		*'
'*) doubt "$variable has more than one line: nothing can be added to it" ;;
	esac

	known=$(remembered MOORING_FOUND | tr ' ' '\n')
	asked=$(remembered MOORING_ASKED)
	# With an answer in hand a restart of the kubelet must not wait long for a metadata service that is down.
	[ -z "$known" ] || [ "$seconds" -le 5 ] || seconds=5

	status=0
	found=$(ask "$seconds") || status=$?
	if [ "$status" != 0 ]; then
		case $status in
			124 | 137) reason="the agent did not end within $((seconds + 3)) s" ;;
			*) reason="the agent does not know the providerID (exit code $status)" ;;
		esac
		if [ -z "$known" ] || ! acceptable "$known"; then doubt "$reason"; fi
		say "$reason; what it said earlier in this boot still holds"
		found=$known
	elif ! acceptable "$found"; then
		shown=$(printf '%s' "$found" | tr -c '[:print:]' ' ' | cut -c 1-200)
		doubt "the agent printed something else than arguments: \"$shown\""
	elif [ -n "$known" ] && [ "$asked" = "$(quoted "$agent_args")" ] && [ "${known%%
*}" != "${found%%
*}" ]; then
		doubt "the agent says ${found%%
*}, but said ${known%%
*} earlier in this boot; if that is right remove $last"
	fi

	added=$(without_given "$found")
	mkdir -p -- "$run" || doubt "cannot write in $run"
	new=$(mktemp "$run/.kubelet.env.XXXXXX") || doubt "cannot write in $run"
	text="# boot $boot
# Written by $home/bin/provider-id.sh when the kubelet starts; of no use after the next boot.
MOORING_FOUND=\"$(printf '%s' "$found" | tr '\n' ' ')\"
MOORING_ASKED=\"$(quoted "$agent_args")\"
$variable=\"$(quoted "$current${current:+${added:+ }}$added")\""
	printf '%s\n' "$text" >"$new" || doubt "cannot write $new"
	chmod 0644 -- "$new"
	mv -f -- "$new" "$file" || doubt "cannot write $file"
	new=
	rm -f -- "$last" || true
	say "the kubelet gets ${added:-nothing that it is not given already}"
}

case ${1:-} in
	reset) reset ;;
	write) write ;;
	*)
		say "usage: $0 reset|write"
		decided=yes
		exit 2
		;;
esac
