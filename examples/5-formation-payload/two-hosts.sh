#!/bin/sh
# The formation with its payload on two hosts: two network name spaces joined by a veth pair, the RTI and the satellites
# on one, the payload on the other, TCP between them. Needs root and ip(8); leaves nothing behind.
#
#   sudo examples/5-formation-payload/two-hosts.sh [options of `hemiola run`, as --duration 60s]
#
# HEMIOLA names the command to run, DELAY a delay on the cable (tc-netem(8), as 200us) each way.

set -eu

example=$(cd "$(dirname "$0")" && pwd)
hemiola=${HEMIOLA:-$example/../../target/release/hemiola}
one=hemiola-$$-1
two=hemiola-$$-2
work=$(mktemp -d)

if [ "$(id -u)" -ne 0 ] || ! command -v ip > /dev/null; then
    rmdir "$work"
    echo "two-hosts: needs root and ip(8) to make network name spaces" >&2
    exit 77
fi

leave() {
    # The cable goes with the name space its end is in.
    ip netns del "$one" 2> /dev/null || true
    ip netns del "$two" 2> /dev/null || true
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ip netns add "$one"
ip netns add "$two"
ip -n "$one" link add cable type veth peer name cable netns "$two"
for host in "$one 10.99.0.1" "$two 10.99.0.2"; do
    name=${host% *}
    ip -n "$name" address add "${host#* }/24" dev cable
    ip -n "$name" link set lo up
    ip -n "$name" link set cable up
    if [ -n "${DELAY:-}" ]; then
        ip netns exec "$name" tc qdisc add dev cable root netem delay "$DELAY"
    fi
done

# The same scenario with an address, and every process on its host.
sed -e "s|^rti = .*|rti = \"tcp:10.99.0.1:15164\"\nrti_namespace = \"$one\"|" \
    -e "/^payload.* = { model/s|{ |{ namespace = \"$two\", |" \
    -e "/^\(board\|dynamics\).* = { model/s|{ |{ namespace = \"$one\", |" \
    "$example/scenario.toml" > "$work/two-hosts.toml"

"$hemiola" run "$work/two-hosts.toml" "$@"
