# shellcheck shell=bash
# machines.sh - machines with RDMA devices for a test, which sources it behind tests/system/lib.sh.
#
# A machine is QEMU with an emulated CPU, Debian's kernel and the host's files, read-only; it needs no root and no network.
# Machine I is called hI, and has up to two NICs with an RDMA device (Soft-RoCE) on each:
#     eth0    10.77.0.I/24    rxe0
#     eth1    10.78.0.I/24    rxe1
# The eth0 of all machines are connected with each other, and so are the eth1. /tmp, /run and /dev/shm are the machine's own.
# $scratch is the host's, and writable: what a machine writes there, the test can read at once.
#
#     machines_ready || skip "$machines_missing"
#     machines_up 1 1                     # machine 1, with one NIC, which is connected with nothing
#     machine_on 1 "$CCTEST" ...          # its output and exit status are those of the command
#     machines_down
#     machines_up 2 1 2                   # machines 1 and 2, with two NICs each
#
# If hosts.sh is sourced before, its `meet` works on machines.

PATH=$PATH:/usr/sbin:/sbin
machines_missing='' machine_state=$scratch/machines
machine_seconds=600 # after so long a machine ends
machine_cpus=2
machine_memory=768  # MiB
machine_devices=rxe # rxe, siw, none
declare -A machine_process=()

# Whether machines can be had here. If not, $machines_missing is the reason.
machines_ready() {
    local program
    for program in qemu-system-x86_64 busybox cpio modprobe rdma ibv_devinfo; do
        machines_missing="$program is not here: scripts/setup --rdma installs it"
        command -v "$program" >/dev/null || return
    done
    # shellcheck disable=SC2154 # lib.sh's
    run "$repository/tests/rdma/kernel" "$repository/build/rdma"
    machines_missing=$(tail -n 1 "$out")
    [ "$status" != 77 ] || return
    check_status 0 "a kernel is unpacked"
    mkdir "$machine_state" && machine_initramfs
}

# The initramfs has what mounts the host's files: busybox, a few modules, and `init`.
machine_initramfs() {
    local kernel=$repository/build/rdma root=$machine_state/root module
    mkdir -p "$root"/{bin,dev,proc,modules,host,repository}
    cp "$(command -v busybox)" "$root/bin"
    cp "$repository/tests/rdma/init" "$root"
    for module in virtio_pci 9p 9pnet_virtio virtio_net; do
        modprobe -d "$kernel" -S "$(<"$kernel/version")" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$machine_state/modules"
    while read -r module; do
        cp "$module" "$root/modules" && basename "$module"
    done <"$machine_state/modules" >"$root/modules/order"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$machine_state/initramfs"
}

# Adds the options of a NIC to $options. Machine 1 has a hub for each NIC number: its own NIC, and the listening ends of the
# cables to the other machines, which are sockets.
machine_nic() { # machine_nic I NIC 1 J...
    local machine
    if [ "$1" = 1 ]; then
        options+=(-netdev "hubport,id=net$2,hubid=$2")
        for machine in "${@:4}"; do
            options+=(-netdev "stream,id=cable$2-$machine,server=on,addr.type=unix,addr.path=$machine_state/cable$2-$machine"
                -netdev "hubport,id=port$2-$machine,hubid=$2,netdev=cable$2-$machine")
        done
    else
        options+=(-netdev "stream,id=net$2,server=off,addr.type=unix,addr.path=$machine_state/cable$2-$1")
    fi
    options+=(-device "virtio-net-pci,netdev=net$2,mac=52:54:00:77:0$2:0$1,host_mtu=9000")
}

# machines_up NICS 1 I...: boots these machines. Ends the test if that fails.
machines_up() {
    local nics=$1 machine
    shift
    for machine in "$@"; do
        machine_start "$machine" "$nics" "$@"
        # The end of a cable that connects must find the end that listens.
        [ $# = 1 ] || await 60 test -S "$machine_state/cable$((nics - 1))-${!#}"
    done
    for machine in "$@"; do machine_await "$machine"; done
}

machine_start() { # machine_start I NICS 1 J...
    local machine=$1 nics=$2 nic kernel=$repository/build/rdma folder=$machine_state/$1 options words
    rm -rf "$folder"
    mkdir "$folder"
    mkfifo "$folder/orders.in" "$folder/orders.out"
    # Not the TSC: a kernel that loses its CPU while it measures the rate has a clock that is several times too fast.
    words="console=ttyS0 quiet panic=-1 random.trust_cpu=on mitigations=off clocksource=hpet no_timer_check rdinit=/init"
    words+=" machine=$machine nics=$nics devices=$machine_devices"
    words+=" repository=$repository scratch=$scratch work=$folder"
    # Without erms and fsrm, which would have bytes copied one by one: an emulated instruction each.
    # shellcheck disable=SC2054 # the commas are QEMU's
    options=(-accel tcg,thread=multi -cpu max,-erms,-fsrm -M q35 -smp "$machine_cpus" -m "$machine_memory" -nodefaults -display none
        -no-reboot -kernel "$kernel/vmlinux" -initrd "$machine_state/initramfs" -append "$words"
        -serial "file:$folder/console" -chardev "pipe,id=orders,path=$folder/orders" -serial chardev:orders
        -virtfs "local,path=/,mount_tag=files,security_model=none,readonly=on,multidevs=remap"
        -virtfs "local,path=$scratch,mount_tag=scratch,security_model=none,multidevs=remap")
    for ((nic = 0; nic < nics; nic++)); do machine_nic "$machine" "$nic" "${@:3}"; done
    # It ends with this script, however that ends.
    setpriv --pdeathsig TERM timeout -k 2 "$machine_seconds" qemu-system-x86_64 "${options[@]}" -pidfile "$folder/pid" \
        </dev/null >"$folder/qemu" 2>&1 &
    machine_process[$machine]=$!
}

machine_await() {
    local folder=$machine_state/$1
    await 120 test -e "$folder/ready" -o ! -e "/proc/${machine_process[$1]}"
    [ ! -e "$folder/ready" ] || return
    cat "$folder/qemu" "$folder/console" >"$err"
    ran=(machine_start "$1")
    failed "machine $1 does not start"
    machines_down
    finish
}

# machine_as I: sets $as so that "${as[@]}" COMMAND... runs on machine I, in the current folder.
machine_as() {
    # shellcheck disable=SC2034 # for the tests
    as=("$repository/tests/rdma/on" "$machine_state/$1")
}

machine_on() { # machine_on I COMMAND...
    local as
    machine_as "$1"
    "${as[@]}" "${@:2}"
}

# machine_run I COMMAND...: run(), on machine I.
machine_run() {
    local as
    machine_as "$1"
    run "${as[@]}" "${@:2}"
}

# gid_gone I DEVICE: its IPv4 address has gone from the table of GIDs, which the kernel changes a moment after the address.
gid_gone() {
    ! machine_on "$1" cat "/sys/class/infiniband/$2/ports/1/gids/1" 2>/dev/null | grep -q ':ffff:'
}

host_as() { machine_as "$1"; } # hosts.sh's, for `meet`

machines_down() {
    local machine
    for machine in "${!machine_process[@]}"; do
        kill "${machine_process[$machine]}"
        wait "${machine_process[$machine]}"
    done 2>/dev/null
    machine_process=()
    rm -f "$machine_state"/cable*
}
