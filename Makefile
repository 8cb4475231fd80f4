# make demo    the main job on a fresh machine: build, serve, upload, resume, download
# make test    everything that must hold before a change lands
# make build   the programs, into bin/
# make bench   speed and memory beside cp and rclone; results for docs/benchmarks.md
# make faults  200 random cuts, flips and kills; results for docs/faults.md
# make lint    gofmt, go vet, staticcheck, go mod tidy
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: build demo test bench faults fuzz lint cross
build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

demo: build
	testdata/demo.sh

test: lint cross
	$(GO) test -race -timeout 20m ./...
	$(MAKE) --no-print-directory fuzz FUZZTIME=3000x

lint:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt these files:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	$(GO) mod verify >/dev/null

# The client runs where users sit: it must compile there.
cross:
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/paddlectl
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/paddlectl

# Every fuzz test for a while, or so many inputs (the go command may fail at the end of a time
# for no other reason than that), from its seeds on.
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

faults: build
	$(GO) test -count=1 -timeout 60m -v ./cmd/internal/faults -args -faults=200 -long=10240
