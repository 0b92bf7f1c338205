#!/usr/bin/env bash
# tier: night; load: cpu2
# README's first command and its second, as they stand there, on a fresh machine: a root in which debootstrap has installed the
# smallest system of this machine's release, from this machine's sources of packages, and in it a clone of this repository.
# No package that somebody installed by hand is there. The root has namespaces of its own, and the network of this machine.
# The first command ends in the table, the second without a failed test. Tests that skip there are counted and printed.
#
# Packages that are downloaded stay in build-fresh, with what the second command printed last.
# FRESH_COMMAND='scripts/setup --tests && make tests' runs that instead of README's second command. FRESH_ROOT=FOLDER, which
# does not exist yet: the root is made there, and stays.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip "debootstrap and chroot need root"
command -v debootstrap >/dev/null || skip "no debootstrap (scripts/setup --tests installs it)"
git -C "$repository" rev-parse --verify -q HEAD >/dev/null || skip "$repository is no git repository, so nothing can be cloned"
. /etc/os-release
release=${VERSION_CODENAME:?}
root=${FRESH_ROOT:-$scratch/root}
downloads=$repository/build-fresh
mkdir -p "$downloads/base" "$downloads/archives/partial"

# The sources of packages of this machine that are its release's, one a line: URI SUITE COMPONENT.
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$release" '$2 == release || index($2, release "-") == 1' | sort -u)
mirror=$(awk -v release="$release" '$2 == release { print $1; exit }' <<<"$sources")
[ -n "$mirror" ] || skip "apt-get knows no source of $release"

# inside SCRIPT: runs it by bash in the root, as process 1 of namespaces that end with it, and with no variable of this machine
# but those of proxies.
inside() {
    local proxies
    mapfile -t proxies < <(env | grep -iE '^[a-z]+_proxy=')
    # shellcheck disable=SC2016 # the shell inside expands it
    RUN_LIMIT=${FRESH_LIMIT:-7200} run unshare --mount --pid --uts --ipc --fork --kill-child bash -ec '
        mount --bind "$1" "$1"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs none "$1/dev/shm"
        mount --rbind /sys "$1/sys"
        mount -t proc proc "$1/proc"
        mount -t tmpfs -o mode=755 none "$1/run"
        mount --bind "$2" "$1/var/cache/apt/archives"
        cd "$1"
        # A root that chroot alone changed makes no user namespaces.
        pivot_root . .
        umount -l .
        exec env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:4}" \
            bash -c "cd /root/cctest && $3"' - "$root" "$downloads/archives" "$1" "${proxies[@]}"
}

RUN_LIMIT=1800 run debootstrap --variant=minbase --cache-dir="$downloads/base" "$release" "$root" "$mirror"
check_status 0 "debootstrap makes a root"
[ $status = 0 ] || verdict
# As the first steps on any fresh machine: names, sources of packages, a clone.
cp /etc/hosts /etc/resolv.conf "$root/etc"
rm -f "$root"/etc/apt/sources.list
awk '{ print "deb", $0 }' <<<"$sources" >"$root/etc/apt/sources.list.d/machine.list"
apt-config dump | grep -E '^Acquire::(Check-|Retries|https?::(Proxy|Timeout))' >"$root/etc/apt/apt.conf.d/90machine" || true
run git clone -q "$repository" "$root/root/cctest"
check_status 0 "the repository is cloned"

# command NUMBER: README's first or second line with scripts/setup that is indented, without its comment.
command_of_readme() {
    sed -nE 's/^    (scripts\/setup .*)/\1/p' "$repository/README.md" | sed -n "$1p" | sed 's/  *#.*//'
}
first=$(command_of_readme 1)
second=${FRESH_COMMAND:-$(command_of_readme 2)}
check "README's first command is no command that ends in a table: $first" grep -qE '&& make && ./cctest ' <<<"$first"
check "README's second command is no test command: $second" grep -qE '^scripts/setup --tests && make ' <<<"$second"

inside "$first"
check_status 0 "$first"
check_says '^# +bytes +elements ' "$out"
check "the last line is not its status" test "$(tail -n 1 "$out")" = "# status: ok"

inside "$second"
check_status 0 "$second"
cat "$out" "$err" >"$downloads/second.log"
if [ -z "${FRESH_COMMAND:-}" ]; then
    check_says '^[0-9]+ passed, 0 failed, [0-9]+ skipped in ' "$out"
    echo "coverage: $(grep -E '^[0-9]+ passed, ' "$out" || echo "no test") on a fresh $PRETTY_NAME"
    sed -nE -e 's/^SKIP +([^ ]+) .* cpu +(\([0-9., ]+\) +)?(.*)/not tested: on a fresh machine, \1 is skipped: \3/p' \
        -e 's/^ +((not tested|without [^:]+): .*)/\1 (on a fresh machine)/p' "$out"
fi
verdict
