# make build   build the programs into bin/
# make image   container images without a container engine: bin/pfs.tar, and bin/pfs-ceph.tar if libcephfs is installed
# make python  the Python package, wheel and sdist, into bin/python
# make demo    the main workflow on a fresh machine: build, serve, upload, resume, download
# make test    the tests that must pass before a change lands, in 20 minutes on two cores: lint, all packages, and
#              on real clusters of HDFS and CephFS each store's contract and one fault of each class, programs
#              that check file systems on mounts, and pods of a real Kubernetes. On Debian, root installs missing
#              packages for them; elsewhere make test uses the installed ones. Kubernetes is compiled once: 7 minutes
# make test-all   before a release: every test under the race detector, including those that make test skips
#              (testing.Short), builds for other systems, all variants of stores, slow faults, 3,000 inputs for each
#              fuzz test, make faults, make soak
# make lint    gofmt, go vet, staticcheck, go mod tidy
# make fuzz    run every fuzz test for FUZZTIME
# make bench   speed and memory compared with cp and rclone, then bench-fair, bench-jobs, bench-data, bench-stores,
#              bench-mount, bench-gateways and bench-python; results for docs/benchmarks.md
# make bench-fair   the effect of one user at full load on another
# make bench-jobs   submits, the start of workers, and the uploader of outputs
# make bench-data   records and conversion, compared with PaddlePaddle/recordio if RECORDIO_REFERENCE names a clone
# make bench-stores   a real HDFS and CephFS, compared with the libraries, Hadoop's client and rclone
# make bench-gateways   SFTP, compared with OpenSSH's own server, and WebHDFS, compared with a NameNode and DataNodes
# make bench-python   the Python package, compared with ArrayRecord, tfrecord, webdataset and MosaicML Streaming
# make bench-mount   the mount, compared with the native file system, rclone mount and ceph-fuse
# make faults  200 random cuts, flips and kills; results for docs/faults.md
# make faults-hdfs   500 random faults in HDFS clusters of five kinds under load; results for docs/faults.md
# make faults-slow   faults of a real HDFS and CephFS that last for minutes; results for docs/faults.md
# make soak    move 6 GiB in 20,000 files from disk to HDFS to CephFS to disk, with kills on the way
# make testbed-up, testbed-down   a real HDFS and CephFS, and a configuration of pfsd for them
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# CephFS needs libcephfs. It is built into pfsd and pfs-agent if the headers are installed.
TAGS ?= $(shell [ -e /usr/include/cephfs/libcephfs.h ] && [ -e /usr/include/rados/librados.h ] && echo ceph)
FLAGS = -tags=$(TAGS)

.PHONY: build image python demo test test-all compile install-and-build bench bench-fair bench-jobs bench-data bench-stores bench-mount bench-python bench-gateways faults faults-hdfs faults-slow soak fuzz lint cross testbed-install testbed-up testbed-down
.NOTPARALLEL:
# paddlectl has no CephFS built in: it runs where libcephfs is missing, and starts in half the time.
build:
	$(GO) build $(FLAGS) -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/pfsd ./cmd/pfs-agent
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/paddlectl

# The programs of bin/image are static; those of bin/image-ceph need the libraries of this machine.
image:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/image/ ./cmd/pfs-agent ./cmd/pfsd ./cmd/paddlectl
	$(GO) run ./deploy/image -o bin/pfs.tar -name $(IMAGE):$(VERSION) bin/image/pfs-agent bin/image/pfsd bin/image/paddlectl
	[ -z "$(TAGS)" ] || { $(GO) build $(FLAGS) -trimpath -ldflags '$(LDFLAGS)' -o bin/image-ceph/ ./cmd/pfs-agent ./cmd/pfsd ./cmd/paddlectl && \
	  $(GO) run ./deploy/image -o bin/pfs-ceph.tar -name $(IMAGE):$(VERSION)-ceph -libraries bin/image-ceph/pfs-agent bin/image-ceph/pfsd bin/image-ceph/paddlectl; }
IMAGE ?= docker.io/paddlecloud/pfs

python:
	python/build.sh bin/python

demo: build
	testdata/demo.sh

# Lint uses the processor time that the tests leave idle.
test: compile
	testdata/beside.sh lint -- env GOFLAGS=$(FLAGS) testdata/testbed/testbed.sh run testdata/slowest.sh \
	  $(GO) test -short -vet=off -p 4 -parallel 4 -timeout 30m ./...

# Everything except CephFS compiles while the clusters are installed, CephFS afterwards.
compile: install-and-build
	$(GO) build $(FLAGS) ./...

install-and-build:
	@$(GO) build ./... & testdata/testbed/testbed.sh install && wait $$!

test-all: compile lint cross
	$(MAKE) --no-print-directory fuzz FUZZTIME=3000x
	GOFLAGS=$(FLAGS) testdata/testbed/testbed.sh run testdata/slowest.sh $(GO) test -race -vet=off -timeout 120m ./...
	$(MAKE) --no-print-directory faults soak

ALL = ./... ./testdata/bench-data ./testdata/bench-fair ./testdata/bench-mount ./deploy/testdata/trainer
# The packages that differ without CephFS.
TAGGED = $$(grep -rlE --include='*.go' '^//go:build !?ceph' . | xargs -n 1 dirname | sort -u)
lint:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt these files:"; echo "$$out"; exit 1; fi
	$(GO) vet $(FLAGS) $(ALL)
	GOGC=300 $(GO) tool staticcheck $(FLAGS) $(ALL)
	[ -z "$(TAGS)" ] || { $(GO) vet $(TAGGED) && $(GO) tool staticcheck $(TAGGED); }
	$(GO) mod tidy -diff
	$(GO) mod verify >/dev/null

# The client must build on the systems of its users. make test only checks types for them, which takes seconds.
cross:
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/paddlectl
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/paddlectl

# FUZZTIME is a time, or a number of inputs such as 3000x: at the end of a time the go command may fail without a
# finding.
FUZZTIME ?= 60s
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go 2>/dev/null | sed 's/^func //' | sort -u); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $$pkg; \
	  done; \
	done

bench: build
	testdata/bench.sh
	$(MAKE) --no-print-directory bench-fair bench-jobs bench-data bench-stores bench-mount bench-gateways bench-python

bench-fair: build
	testdata/bench-fair.sh

bench-jobs: build
	testdata/bench-jobs.sh

bench-data: build
	testdata/bench-data.sh

bench-stores: build
	TAGS=$(TAGS) testdata/bench-stores.sh

bench-mount: build
	TAGS=$(TAGS) testdata/bench-mount.sh

bench-gateways: build
	testdata/bench-gateways.sh

bench-python: build
	testdata/bench-python.sh

faults: build
	$(GO) test -count=1 -timeout 60m -v -run 'TestFaults|TestToken' ./cmd/internal/faults -args -faults=200 -long=10240

faults-hdfs:
	$(GO) test -count=1 -timeout 120m -v -run TestRandomFaults ./pfs/hdfsfs -args -faults=100

faults-slow:
	GOFLAGS=$(FLAGS) $(GO) test -count=1 -timeout 60m -v -run TestSlow ./cmd/internal/faults

soak:
	GOFLAGS=$(FLAGS) $(GO) test -count=1 -timeout 120m -v -run TestStores ./cmd/internal/faults -args -files=20000 -bytes=6442450944

testbed-install:
	testdata/testbed/testbed.sh install

testbed-up:
	testdata/testbed/testbed.sh up

testbed-down:
	testdata/testbed/testbed.sh down
