#!/usr/bin/env bash
# A real Kubernetes with one node on this machine: API server, controller manager, scheduler and kubelet, compiled from
# their Go modules (k8s/go.mod; once a machine, about seven minutes on two cores), and Debian's etcd and containerd.
# 'up' then takes about ten seconds.
#
#   k8s.sh install               install missing packages (as root on Debian), and compile
#   k8s.sh up                    install what is missing, start the cluster if it does not run, print addresses
#   k8s.sh down                  stop everything and remove its data
#   k8s.sh operator NAME         compile and start the paddle-operator or volcano, if it does not run
#   k8s.sh load IMAGE.tar...     import docker archives; there is no registry, so pods need imagePullPolicy Never
#   k8s.sh kubectl ARGS...       kubectl as the administrator of the cluster
#   k8s.sh node COMMAND...       run a command on the node: it sees the node's mounts, processes and network
#   k8s.sh signal DAEMON SIGNAL  signal apiserver, controller-manager, scheduler, containerd or kubelet; one that ends starts again
#
# The node has its own namespaces of mounts, processes and network, and its own /run, /var/lib and /var/log. All of it
# ends with its first process. A pair of virtual interfaces connects it to the caller's network: pods reach the caller at
# HOST of the printed addresses. There is no DNS: a test whose pods need names serves them at HOST.
#
# K8S_DIR: the directory of the cluster; one cluster per directory.
# TESTBED_IDLE: seconds after which a cluster stops if nobody holds $K8S_DIR.use; 0 is never.
# PFS_TESTBED_CACHE: the directory for the programs, by default $XDG_CACHE_HOME/pfs-testbed.
# Status 3: this machine cannot run the cluster; the message says why.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
D=${K8S_DIR:-${PFS_TESTBED_DIR:-${TMPDIR:-/tmp}/pfs-testbed-$(id -u)}/k8s}
CACHE=${PFS_TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pfs-testbed}
BIN=$CACHE/k8s-$(sed -n 's,^require k8s.io/kubernetes v,,p' "$HERE/k8s/go.mod")
OPERATORS=$CACHE/operators-1
readonly programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
readonly commands=(containerd runc etcd ip unshare flock openssl) plugins=/usr/lib/cni
readonly packages=(containerd runc etcd-server containernetworking-plugins iproute2 util-linux openssl)
export PATH=$PATH:/usr/sbin:/sbin:$BIN

cannot() { echo "cannot run Kubernetes here: $*" >&2; exit 3; }
die() { echo "k8s.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# missing prints what install has to fetch from Debian.
missing() {
  local c
  for c in "${commands[@]}"; do command -v "$c" >/dev/null || echo "$c"; done
  [ -x "$plugins/bridge" ] || echo "$plugins/bridge"
}

# install: everything, once per machine. Concurrent callers wait for each other.
install() {
  local gone
  [ "$(id -u)" = 0 ] || cannot "only root can make namespaces with mounts and devices"
  command -v flock >/dev/null || cannot "flock (util-linux) is missing"
  mkdir -p "$CACHE"
  exec 8>"$CACHE/k8s.lock"; flock 8
  gone=$(missing | tr '\n' ' ')
  if [ -n "$gone" ]; then
    command -v apt-get >/dev/null || cannot "missing: $gone; on Debian: apt-get install ${packages[*]}"
    echo "installing containerd and etcd" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -q -y --no-install-recommends "${packages[@]}" >&2 ||
      { apt-get update -q >&2 && apt-get install -q -y --no-install-recommends "${packages[@]}" >&2; } ||
      cannot "apt-get could not install ${packages[*]}"
  fi
  compile
  exec 8>&-
}

# compile makes the programs that the cache lacks. kubectl is needed only where no package has installed one.
compile() {
  local p lacking=()
  for p in "${programs[@]}"; do [ -x "$BIN/$p" ] || lacking+=("k8s.io/kubernetes/cmd/$p"); done
  command -v kubectl >/dev/null || lacking+=(k8s.io/kubernetes/cmd/kubectl)
  [ ! -e "$BIN/pause.tar" ] || [ ${#lacking[@]} -gt 0 ] || return 0
  echo "compiling Kubernetes into $BIN; this takes minutes" >&2
  local new=$BIN.new
  mkdir -p "$BIN" "$new"
  (
    cd "$HERE/k8s"
    export GOFLAGS='' CGO_ENABLED=0
    go build -trimpath -ldflags '-s -w' -o "$new/" ./pause "${lacking[@]}"
    go run -C "$HERE/../.." ./deploy/image -o "$new/pause.tar" -name docker.io/testbed/pause:1 "$new/pause"
  ) >&2 || cannot "Kubernetes could not be compiled"
  mv "$new"/* "$BIN/"
  rmdir "$new"
}

# The programs of the operators: OPERATOR PROGRAM MODULE VERSION PACKAGE. The checksum database does not know the paddle-operator.
readonly operator_sum=h1:s00/ugf95Hq0UjDhGgbBYRbSYRXAw3eFUxEvFJ2o0xo=
operator_programs() {
  cat <<'PROGRAMS'
paddle-operator paddle-operator github.com/paddleflow/paddle-operator v0.3.5 .
volcano vc-controller-manager volcano.sh/volcano v1.10.0 ./cmd/controller-manager
volcano vc-scheduler volcano.sh/volcano v1.10.0 ./cmd/scheduler
PROGRAMS
}

# compile_operator NAME makes the programs inside a copy of their module, whose replace directives then hold, and keeps the definitions
# of its resources.
compile_operator() {
  local operator program module version package info new=$OPERATORS/$1.new source=$OPERATORS/$1.new/source
  mkdir -p "$OPERATORS"
  exec 8>"$OPERATORS/$1.lock"; flock 8
  [ ! -d "$OPERATORS/$1" ] || { exec 8>&-; return; }
  echo "compiling $1 into $OPERATORS; this takes minutes" >&2
  rm -rf "$new"; mkdir -p "$new/crds"
  while read -r operator program module version package; do
    [ "$operator" = "$1" ] || continue
    if [ ! -e "$source" ]; then
      info=$(cd / && GOFLAGS=-mod=mod GONOSUMDB=github.com/paddleflow/paddle-operator go mod download -json "$module@$version") || cannot "$module cannot be downloaded"
      [ "$1" != paddle-operator ] || [[ $info == *"\"Sum\": \"$operator_sum\""* ]] || cannot "$module $version has another checksum"
      cp -r "$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$info")" "$source"
      chmod -R u+w "$source"
    fi
    (cd "$source" && GOFLAGS='' CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$new/$program" "$package") >&2 || cannot "$program could not be compiled"
  done < <(operator_programs)
  case $1 in
  volcano) cp "$source"/config/crd/{volcano,jobflow}/bases/*.yaml "$new/crds" ;;
  paddle-operator) cp "$source/deploy/v1/crd.yaml" "$new/crds" ;;
  *) usage ;;
  esac
  rm -rf "$source"
  mv "$new" "$OPERATORS/$1"
  exec 8>&-
}

# operator NAME starts an operator on a running node.
operator() {
  compile_operator "$1"
  [ ! -e "$D/$1" ] || return 0
  kubectl_admin apply --server-side -f "$OPERATORS/$1/crds" >/dev/null
  await 30 "the resources of $1" kubectl_admin wait --for=condition=Established crd --all --timeout=10s # it fails while one has no status
  case $1 in
  paddle-operator)
    daemon paddle-operator/paddle-operator --metrics-bind-address 127.0.0.1:28080 --health-probe-bind-address 127.0.0.1:28081 --initImage docker.io/testbed/busybox:1
    ;;
  volcano)
    kubectl_admin create namespace volcano-system >/dev/null
    cat >"$D/volcano.conf" <<'V'
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}, {name: binpack}]
V
    daemon volcano/vc-controller-manager --kubeconfig="$D/kubeconfig" --leader-elect=false --healthz-address=127.0.0.1:28091 --enable-healthz=true
    daemon volcano/vc-scheduler --kubeconfig="$D/kubeconfig" --leader-elect=false --scheduler-conf="$D/volcano.conf" --healthz-address=127.0.0.1:28092 --listen-address=127.0.0.1:28093
    ;;
  esac
  touch "$D/$1"
}

# daemon PROGRAM ARGS...: run an operator on the node, beside its other daemons.
daemon() {
  KUBECONFIG=$D/kubeconfig K8S_DIR=$D node setsid --fork "$BASH" "$HERE/k8s.sh" keep "${1##*/}" "$OPERATORS/$1" "${@:2}" >/dev/null 2>&1 </dev/null 8>&- 9>&-
}

# first prints the first process of the node, if it runs. It ignores a number that another program has got since.
first() {
  local p
  p=$(cat "$D/run/first.pid" 2>/dev/null) || return 1
  grep -qzxF -e "$D" "/proc/$p/cmdline" 2>/dev/null && echo "$p"
}

# await SECONDS WHAT COMMAND...: repeat the command until it succeeds.
await() {
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || die "$what: not within its time; see $D/log"
    sleep 0.1
  done
}

ready() { kubectl_admin get nodes 2>/dev/null | grep -q ' Ready'; }

kubectl_admin() { kubectl --kubeconfig "$D/kubeconfig" "$@"; }

addresses() {
  echo "KUBECONFIG=$D/kubeconfig"
  echo "HOST=$(cat "$D/net").254"
}

up() {
  install
  if [ -e "$D/up" ] && first >/dev/null && ready; then addresses; return; fi
  down
  mkdir -p "$D"/{run,log,pki,ctd/cni,node/{lib,log}}
  network
  local net; net=$(cat "$D/net")
  configure "$net"
  setsid nohup unshare --mount --net --pid --fork --kill-child "$BASH" "$HERE/k8s.sh" first "$D" >"$D/log/first.log" 2>&1 </dev/null 8>&- 9>&- &
  await 10 "the node's namespaces" test -s "$D/run/first.pid"
  local link=pfs-${net#*.}
  ip link add "$link" type veth peer name eth0 netns "$(first)"
  ip addr add "$net.254/24" dev "$link"
  ip link set "$link" up
  await 120 "the node" ready
  touch "$D/up" "$D.use"
  if [ "${TESTBED_IDLE:-0}" != 0 ]; then
    setsid nohup "$BASH" "$HERE/k8s.sh" idle "$D" >/dev/null 2>&1 </dev/null 8>&- 9>&- &
  fi
  addresses
}

# network chooses the first three numbers of addresses that no route of the caller has.
network() {
  local net
  for _ in $(seq 100); do
    net=10.$((RANDOM % 200 + 50)).$((RANDOM % 250))
    [ -n "$(ip -4 route show match "$net.1" | grep -v '^default')" ] || { echo "$net" >"$D/net"; return; }
  done
  die "no free network found"
}

configure() {
  local net=$1 token
  openssl genrsa -out "$D/pki/sa.key" 2048 2>/dev/null
  openssl rsa -in "$D/pki/sa.key" -pubout -out "$D/pki/sa.pub" 2>/dev/null
  token=$(openssl rand -hex 16)
  (umask 077; echo "$token,admin,1,system:masters" >"$D/pki/tokens.csv")
  cat >"$D/kubeconfig" <<K
apiVersion: v1
kind: Config
clusters: [{name: testbed, cluster: {server: "https://$net.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: $token}}]
contexts: [{name: testbed, context: {cluster: testbed, user: admin}}]
current-context: testbed
K
  # restrict_oom_score_adj: without CAP_SYS_RESOURCE nobody may lower the score, and runc fails.
  cat >"$D/ctd/config.toml" <<T
version = 2
root = "$D/ctd/root"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/testbed/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$plugins"
    conf_dir = "$D/ctd/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
T
  cat >"$D/ctd/cni/10.conflist" <<C
{"cniVersion": "0.4.0", "name": "testbed", "plugins": [{"type": "bridge", "bridge": "cni0", "ipam": {"type": "host-local",
  "ranges": [[{"subnet": "$net.0/24", "rangeStart": "$net.2", "rangeEnd": "$net.250", "gateway": "$net.1"}]],
  "routes": [{"dst": "0.0.0.0/0"}]}}]}
C
  cat >"$D/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $net.1
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: $(cgroup)
clusterDNS: [$net.254]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
enforceNodeAllocatable: []
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%"}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100 # images that a full disk evicts could not be pulled again
makeIPTablesUtilChains: false
Y
}

# cgroup prints the control group of the pods; hierarchies the directories with one.
cgroup() { echo "/pfs-testbed-$(cksum <<<"$D" | cut -d' ' -f1)"; }
hierarchies() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/self/mounts; }

# start NAME COMMAND...: a daemon of the node. If it ends, it starts again a second later.
start() { keep "$@" & }
keep() {
  local n=$1; shift
  while :; do
    "$@" >>"$D/log/$n.log" 2>&1 &
    echo $! >"$D/run/$n.pid"
    wait $! || true
    sleep 1
  done
}

# node_first is the first process of the node. It starts the daemons and reaps orphans.
node_first() {
  local net h pid; net=$(cat "$D/net")
  read -r pid _ </proc/self/stat # the number outside
  echo "$pid" >"$D/run/first.new"; mv "$D/run/first.new" "$D/run/first.pid"
  mount --make-rshared /
  mount -t proc proc /proc
  # A mount that a test had at this moment would live on here after its end.
  awk '$3 ~ /^fuse/ { print $2 }' /proc/mounts | xargs -r -n 1 umount -l || true
  mount -t tmpfs tmpfs /run
  mount --bind "$D/node/lib" /var/lib
  mount --bind "$D/node/log" /var/log
  for h in $(hierarchies); do mkdir -p "$h$(cgroup)"; done
  ip link set lo up
  await 10 "the link to the node" ip link show eth0
  ip link add cni0 type bridge
  ip addr add "$net.1/24" dev cni0
  ip link set eth0 master cni0 up
  ip link set cni0 up
  cd "$D"
  local kube=(--kubeconfig=kubeconfig) db=http://127.0.0.1:2379
  start containerd containerd -c ctd/config.toml
  start etcd etcd --data-dir /run/etcd --listen-client-urls $db --advertise-client-urls $db --listen-peer-urls http://127.0.0.1:2380
  start apiserver kube-apiserver --etcd-servers=$db --cert-dir=pki --secure-port=6443 --bind-address="$net.1" \
    --service-cluster-ip-range=10.96.0.0/16 --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=pki/sa.pub \
    --service-account-signing-key-file=pki/sa.key --token-auth-file=pki/tokens.csv --authorization-mode=Node,RBAC --allow-privileged=true \
    --kubelet-preferred-address-types=InternalIP
  await 60 containerd test -S /run/containerd/containerd.sock
  ctr -a /run/containerd/containerd.sock -n k8s.io images import "$BIN/pause.tar" >"$D/log/load.log" 2>&1 &
  await 120 "the API server" kubectl "${kube[@]}" get --raw /readyz
  start controller-manager kube-controller-manager "${kube[@]}" --service-account-private-key-file=pki/sa.key --root-ca-file=pki/apiserver.crt --leader-elect=false
  start scheduler kube-scheduler "${kube[@]}" --leader-elect=false
  start kubelet kubelet "${kube[@]}" --config=kubelet.yaml --hostname-override=node1 --node-ip="$net.1"
  while :; do wait; sleep 1; done
}

# node COMMAND...: run it in the node's namespaces.
node() {
  local p; p=$(first) || die "no cluster runs in $D"
  nsenter --target "$p" --mount --net --pid -- "$@"
}

load() {
  local image
  for image in "$@"; do node ctr -a /run/containerd/containerd.sock -n k8s.io images import - <"$image" >/dev/null; done
}

# signal_daemon NAME SIGNAL: its number is that of the node's namespace.
signal_daemon() { node kill -s "$2" "$(cat "$D/run/$1.pid")"; }

down() {
  local p h
  if p=$(first); then
    kill -KILL "$p"
    await 20 "the end of the node" test ! -e "/proc/$p"
  fi
  for h in $(hierarchies); do
    [ ! -d "$h$(cgroup)" ] || find "$h$(cgroup)" -depth -type d -exec rmdir {} +
  done
  rm -rf "$D"
}

# idle: stop the cluster once nobody has used it for a while. Users hold a shared lock of $D.use and touch it.
idle() {
  exec 9>>"$D.use"
  while first >/dev/null; do
    sleep 5
    [ $(($(date +%s) - $(stat -c %Y "$D.use"))) -gt "$TESTBED_IDLE" ] && flock -n -x 9 && down
  done
}

verb=${1:-}; [ -n "$verb" ] || usage; shift
case $verb in
up | down) mkdir -p "$(dirname "$D")"; exec 9>"$D.lock"; flock 9; "$verb" ;;
install) install; compile_operator paddle-operator ;;
operator) [ $# = 1 ] || usage; exec 9>"$D.lock"; flock 9; operator "$1" ;;
keep) keep "$@" ;;
load | node) [ $# -gt 0 ] || usage; "$verb" "$@" ;;
signal) [ $# = 2 ] || usage; signal_daemon "$@" ;;
kubectl) kubectl_admin "$@" ;;
first) D=$1; node_first ;;
idle) D=$1; idle ;;
*) usage ;;
esac
