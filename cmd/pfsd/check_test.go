package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/rofs"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	good := mustRun(t, "", "check", "--data", data, "--datacenter", "dc=file://"+store)
	for _, want := range []string{"ok      accounts: ", "ok      certificate: ", "ok      datacenter dc: file://" + store + ": wrote, read back and removed"} {
		if !strings.Contains(good.stdout, want) {
			t.Errorf("the check lacks %q:\n%s", want, good.stdout)
		}
	}
	if left, err := os.ReadDir(store); err != nil || len(left) > 0 {
		t.Errorf("the check left %v in the store, %v", left, err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Error("the check made the data directory")
	}
}

func TestCheckOfOwnStore(t *testing.T) {
	data := dataFor(t)
	if got := mustRun(t, "", "check", "--data", data); !strings.Contains(got.stdout, "serve makes it") {
		t.Errorf("before the first start:\n%s", got.stdout)
	}
	start(t, data)
	if got := mustRun(t, "", "check", "--data", data); !strings.Contains(got.stdout, "accounts: 2 in") || !strings.Contains(got.stdout, "read back") {
		t.Errorf("while the service runs:\n%s", got.stdout)
	}
}

func TestCheckTellsWhatFails(t *testing.T) {
	data := dataFor(t)
	got := run(t, "", "check", "--json", "--data", data, "--datacenter", "good=mem:", "--datacenter", "bad=file:///no/such/dir")
	if got.code != int(cliio.Partly) {
		t.Errorf("code %d, want %d\n%s", got.code, cliio.Partly, got.stderr)
	}
	results := map[string]finding{}
	for d := json.NewDecoder(strings.NewReader(got.stdout)); d.More(); {
		var f finding
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%v in %q", err, got.stdout)
		}
		results[f.Check] = f
	}
	if f := results["datacenter bad"]; f.OK || !strings.Contains(f.Says, "/no/such/dir") {
		t.Errorf("the store that is not there: %+v", f)
	}
	if f := results["datacenter good"]; !f.OK {
		t.Errorf("the good store: %+v", f)
	}
	if got := run(t, "", "check", "--data", data, "--timeout", "0"); got.code != int(cliio.Usage) {
		t.Errorf("--timeout 0: code %d", got.code)
	}
}

// forgetful is a store that changes the bytes it stores.
type forgetful struct{ pfs.FileSystem }

func (f forgetful) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	w, err := f.Create(ctx, name, pfs.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := w.WriteAt(ctx, []byte("other"), 0); err != nil {
		return nil, err
	}
	if _, err := w.Commit(ctx, pfs.CommitOptions{Size: 5}); err != nil {
		return nil, err
	}
	return f.FileSystem.Open(ctx, name)
}

func TestProbeStore(t *testing.T) {
	store := memfs.New(memfs.Options{})
	if says, err := new(trial).probeStore(t.Context(), store, pfs.Root); err != nil || !strings.Contains(says, "read back") {
		t.Errorf("%q, %v", says, err)
	}
	if _, err := new(trial).probeStore(t.Context(), rofs.New(store), pfs.Root); !errors.Is(err, pfs.ReadOnly) || !strings.Contains(err.Error(), "writing") {
		t.Errorf("a store that cannot be written: %v", err)
	}
	if _, err := new(trial).probeStore(t.Context(), forgetful{store}, pfs.Root); !errors.Is(err, pfs.Integrity) {
		t.Errorf("a store that changes what it was given: %v", err)
	}
	if page, err := store.List(t.Context(), pfs.Root, pfs.ListOptions{}); err != nil || len(page.Entries) > 0 {
		t.Errorf("left in the store: %v, %v", page.Entries, err)
	}
	pfstest.WriteFile(t, store, "/file", nil)
	if _, err := new(trial).probeStore(t.Context(), store, "/file"); !errors.Is(err, pfs.NotDir) || !strings.Contains(fmt.Sprint(err), ": /file") {
		t.Errorf("a directory that is a file: %v", err)
	}
	var out bytes.Buffer
	m := &Main{Stdout: &out, Stderr: &out}
	if code := m.Run(t.Context(), []string{program, "check", "--help"}); code != 0 || !strings.Contains(out.String(), "--timeout") {
		t.Errorf("help: code %d\n%s", code, out.String())
	}
}

// TestCheckFindsWhatServeRefuses has options with which serve does not start.
func TestCheckFindsWhatServeRefuses(t *testing.T) {
	taken, free := silent(t), freeAddress(t)
	for _, row := range []struct {
		option string
		code   cliio.Code
		says   string
	}{
		{"log-level: loud", cliio.Usage, "loud"},
		{"log-format: xml", cliio.Usage, "xml"},
		{"listen: 127.0.0.1:99999", cliio.Usage, "99999"},
		{"metrics-listen: 127.0.0.1:99999", cliio.Usage, "99999"},
		{"listen: 192.0.2.1:0", cliio.Partly, "FAILED  addresses: --listen 192.0.2.1:0"},
		{"audit-log: /nope/x.log", cliio.Partly, "FAILED  audit log: --audit-log: "},
		{"audit-log: /", cliio.Partly, "FAILED  audit log: --audit-log: "},
		{"audit-log: new.log", cliio.Done, "serve makes it"},
		{"audit-log: \"-\"", cliio.Done, "on standard output"},
		{"listen: " + taken, cliio.Done, "is taken"},
		{"listen: 127.0.0.1:0\nmetrics-listen: 127.0.0.1:0", cliio.Done, "is free; "},
		{"listen: " + taken + "\nmetrics-listen: " + taken, cliio.Partly, "are one address"},
		{"listen: " + free + "\nmetrics-listen: " + free, cliio.Partly, "FAILED  addresses: --metrics-listen " + free},
		{"listen: " + free + "\nmetrics-listen: " + taken, cliio.Done, "is taken"},
	} {
		config := writeConfig(t, t.TempDir(), row.option+"\ndatacenters:\n  dc: {store: 'mem:'}\n")
		got := run(t, "", "check", "--data", dataFor(t), "--config", config)
		if got.code != int(row.code) || !strings.Contains(got.stdout+got.stderr, row.says) {
			t.Errorf("%s: code %d, want %d and %q\n%s%s", row.option, got.code, row.code, row.says, got.stdout, got.stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(config), "*.log*")); len(left) > 0 {
			t.Errorf("%s: the check made %q", row.option, left)
		}
	}
}

// freeAddress returns an address of this machine without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestCheckSFTPHost checks a store on a real SSH server, and a host key that is not the known one.
func TestCheckSFTPHost(t *testing.T) {
	host := testbed.NewSSHServer(t)
	check := func(known string) result {
		dc := "dc=sftp://" + host.Address + t.TempDir() + "?user=" + host.User + "&key=" + host.Key + "&known-hosts=" + known
		return run(t, "", "check", "--data", dataFor(t), "--datacenter", dc)
	}
	if got := check(host.KnownHosts); got.code != 0 || !strings.Contains(got.stdout, "wrote, read back and removed") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := check(testbed.NewSSHServer(t).KnownHosts); got.code == 0 || !strings.Contains(got.stdout+got.stderr, "known_hosts") {
		t.Errorf("another host key: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
