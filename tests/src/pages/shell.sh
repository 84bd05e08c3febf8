# The shell of one reader, in a network, process and mount namespace of its own. Each line of the pipe `typed` names a block of a page:
# `run FILE`, or `until FILE` for a command that goes on. Beside FILE stand its output (.out), then .done or .failed.
set -m -E -o pipefail
exec 8>&1 9<>"$PAGE_FOLDER/typed"

# The default ports are free in here, the addresses and names of the pages exist, and nothing stays behind.
ip link set lo up
ip address add 192.0.2.10/24 dev lo
mount --make-rprivate /
mount -t tmpfs tmpfs /var/lib
mount --bind "$PAGE_FOLDER/hosts" /etc/hosts
if [ -n "$HIDE_KVM" ]; then mount --bind /dev/null /dev/kvm; fi

trap 'failed $? $LINENO "$BASH_COMMAND"' ERR
failed() {
  echo "$2 $1 $3" > "$block.part"
  mv -n "$block.part" "$block.failed"
  exit "$1"
}

# Types Ctrl-C in all terminals that are open; again where something has not ended in ten seconds, as a person does.
ctrl_c() {
  for _ in {1..6}; do
    for group in $(jobs -p); do kill -INT -- "-$group" || true; done
    for _ in {1..50}; do
      if [ -z "$(jobs -pr)" ]; then wait; return; fi
      sleep 0.2
    done
    echo "not ended ten seconds after Ctrl-C:"
    ps -e -o pid,ppid,pgid,stat,ignored,blocked,caught,pending,wchan:24,etimes,args
  done
  return 1
}

typed() {
  set -e
  source "$block"
}

echo ready
while read -r -u 9 kind block; do
  if [ "$kind" = until ]; then
    { typed; touch "$block.done"; } > "$block.out" 2>&1 &
  else
    exec > "$block.out" 2>&1
    typed
    exec >&8 2>&8
    set +e
    touch "$block.done"
  fi
done
