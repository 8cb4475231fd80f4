package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

const goodPassword = "correct horse"

func openTest(t *testing.T, opts AccountsOptions) *Accounts {
	t.Helper()
	a, err := OpenAccounts(filepath.Join(t.TempDir(), AccountsFile), opts)
	if err != nil {
		t.Fatal(err)
	}
	return cheap(a)
}

// cheap makes a use cheap hashes, for tests of other things.
func cheap(a *Accounts) *Accounts {
	a.hash.model.memory, a.hash.model.passes = 64, 1
	return a
}

func mustAdd(t *testing.T, a *Accounts, n NewAccount) Account {
	t.Helper()
	if n.Password == "" {
		n.Password = goodPassword
	}
	got, err := a.Add(context.Background(), n)
	if err != nil {
		t.Fatalf("Add(%q): %v", n.Name, err)
	}
	return got
}

func TestAddDefaults(t *testing.T) {
	a := openTest(t, AccountsOptions{})
	tests := []struct {
		n    NewAccount
		want Identity
	}{
		{NewAccount{Name: "yanxu05@baidu.com"}, Identity{"yanxu05@baidu.com", User, "yanxu05_baidu.com", 20000, 20000}},
		{NewAccount{Name: "yanxu05@other.org"}, Identity{"yanxu05@other.org", User, "yanxu05_other.org", 20001, 20001}},
		{NewAccount{Name: "yanxu05_baidu.com"}, Identity{"yanxu05_baidu.com", User, "yanxu05_baidu.com-2", 20002, 20002}},
		{NewAccount{Name: "yanxu05+baidu.com"}, Identity{"yanxu05+baidu.com", User, "yanxu05_baidu.com-3", 20003, 20003}},
		{NewAccount{Name: "pub", Role: Publisher, HDFSUser: "team", UID: 500, GID: 20004}, Identity{"pub", Publisher, "team", 500, 20004}},
		// 20004 is the group of another account: do not share it by accident
		{NewAccount{Name: "ann"}, Identity{"ann", User, "ann", 20005, 20005}},
	}
	for _, tt := range tests {
		got := mustAdd(t, a, tt.n)
		if got.Identity != tt.want {
			t.Errorf("Add(%q) = %+v, want %+v", tt.n.Name, got.Identity, tt.want)
		}
		if kept, err := a.Get(tt.n.Name); err != nil || kept != got {
			t.Errorf("Get(%q) = %+v, %v; want %+v", tt.n.Name, kept, err, got)
		}
	}
	if got := len(a.List()); got != len(tests) {
		t.Errorf("List has %d accounts, want %d", got, len(tests))
	}
}

func TestAddRefuses(t *testing.T) {
	a := openTest(t, AccountsOptions{})
	mustAdd(t, a, NewAccount{Name: "Bob", UID: 700, HDFSUser: "robert"})
	mustAdd(t, a, NewAccount{Name: "gone", UID: 701})
	if err := a.Remove(context.Background(), "gone"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why  string
		n    NewAccount
		want pfs.Kind
	}{
		{"same name", NewAccount{Name: "Bob"}, pfs.Exist},
		{"same but for case", NewAccount{Name: "bob"}, pfs.Conflict},
		{"looks the same", NewAccount{Name: "B0b"}, pfs.Conflict},
		{"looks like a former account", NewAccount{Name: "g0ne"}, pfs.Conflict},
		{"not ASCII", NewAccount{Name: "Ｂｏｂ"}, pfs.Invalid},
		{"name of a system user", NewAccount{Name: "hdfs"}, pfs.Invalid},
		{"same HDFS user", NewAccount{Name: "x", HDFSUser: "ROBERT"}, pfs.Conflict},
		{"same uid", NewAccount{Name: "x", UID: 700}, pfs.Conflict},
		{"uid of a former account", NewAccount{Name: "x", UID: 701}, pfs.Conflict},
		{"HDFS user of a former account", NewAccount{Name: "x", HDFSUser: "gone"}, pfs.Conflict},
		{"bad name", NewAccount{Name: "../etc"}, pfs.Invalid},
		{"bad role", NewAccount{Name: "x", Role: "root"}, pfs.Invalid},
		{"principal", NewAccount{Name: "x", HDFSUser: "bob@REALM"}, pfs.Invalid},
		{"negative uid", NewAccount{Name: "x", UID: -1}, pfs.Invalid},
		{"huge gid", NewAccount{Name: "x", GID: 1 << 32}, pfs.Invalid},
		{"short password", NewAccount{Name: "x", Password: "1234567"}, pfs.Invalid},
	}
	for _, tt := range tests {
		if tt.n.Password == "" {
			tt.n.Password = goodPassword
		}
		_, err := a.Add(context.Background(), tt.n)
		if err == nil || pfs.KindOf(err) != tt.want {
			t.Errorf("%s: got %v, want Kind %v", tt.why, err, tt.want)
		}
	}
	if got := len(a.List()); got != 1 {
		t.Errorf("refused accounts were made: %d accounts, want 1", got)
	}
}

func TestRemovedIdentityComesBackToItsName(t *testing.T) {
	a := openTest(t, AccountsOptions{})
	first := mustAdd(t, a, NewAccount{Name: "ann"})
	if err := a.Remove(context.Background(), "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get("ann"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("Get after Remove: %v, want NotExist", err)
	}
	if other := mustAdd(t, a, NewAccount{Name: "bob"}); other.UID == first.UID {
		t.Errorf("uid %d went to another account", other.UID)
	}
	again := mustAdd(t, a, NewAccount{Name: "ann"})
	if again.Identity != first.Identity {
		t.Errorf("ann came back as %+v, was %+v", again.Identity, first.Identity)
	}
	if again.Generation == first.Generation {
		t.Error("ann came back in the generation of before: old tokens are valid")
	}
}

func TestVerifyPassword(t *testing.T) {
	ctx := context.Background()
	a := openTest(t, AccountsOptions{})
	mustAdd(t, a, NewAccount{Name: "ann"})
	tests := []struct {
		user, password string
		ok             bool
	}{
		{"ann", goodPassword, true},
		{"ann", "correct horsf", false},
		{"ann", "", false},
		{"ann", strings.Repeat("x", MaxPassword+1), false},
		{"Ann", goodPassword, false},
		{"nobody", goodPassword, false},
		{"nobody", "", false},
	}
	for _, tt := range tests {
		got, err := a.Verify(ctx, tt.user, tt.password, "")
		switch {
		case tt.ok && (err != nil || got.Name != tt.user):
			t.Errorf("Verify(%q, right) = %+v, %v", tt.user, got, err)
		case !tt.ok && (!errors.Is(err, pfs.Unauthenticated) || got != Account{}):
			t.Errorf("Verify(%q, wrong) = %+v, %v; want Unauthenticated", tt.user, got, err)
		}
	}
}

func TestChangesChangeTheGeneration(t *testing.T) {
	ctx := context.Background()
	a := openTest(t, AccountsOptions{})
	seen := map[string]bool{mustAdd(t, a, NewAccount{Name: "ann"}).Generation: true}
	changes := map[string]func() error{
		"SetPassword": func() error { return a.SetPassword(ctx, "ann", "another horse") },
		"SetRole":     func() error { return a.SetRole(ctx, "ann", Admin) },
	}
	for name, change := range changes {
		if err := change(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := a.Get("ann")
		if err != nil || seen[got.Generation] {
			t.Errorf("after %s: generation %q was there before (%v)", name, got.Generation, err)
		}
		seen[got.Generation] = true
	}
	got, err := a.Verify(ctx, "ann", "another horse", "")
	if err != nil || got.Role != Admin {
		t.Errorf("Verify = %+v, %v; want the new password and role", got, err)
	}
	wantKind(t, a.SetPassword(ctx, "nobody", goodPassword), pfs.NotExist)
	wantKind(t, a.SetRole(ctx, "nobody", Admin), pfs.NotExist)
	wantKind(t, a.SetRole(ctx, "ann", "root"), pfs.Invalid)
	wantKind(t, a.Remove(ctx, "nobody"), pfs.NotExist)
}

func TestCanceledChangesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := openTest(t, AccountsOptions{})
	_, err := a.Add(ctx, NewAccount{Name: "ann", Password: goodPassword})
	wantKind(t, err, pfs.Canceled)
	if len(a.List()) != 0 {
		t.Error("a canceled Add made an account")
	}
}

// A change by another process is seen within the poll interval, and the file is not checked more
// often.
func TestPoll(t *testing.T) {
	c := newClock()
	service := openTest(t, AccountsOptions{Now: c.Now})
	admin, err := OpenAccounts(service.path, AccountsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, cheap(admin), NewAccount{Name: "ann"})
	if _, err := service.Get("ann"); err == nil {
		t.Error("the file was read again before the interval was over")
	}
	c.Advance(DefaultPoll)
	if _, err := service.Get("ann"); err != nil {
		t.Errorf("after the interval: %v", err)
	}
	if err := admin.Remove(context.Background(), "ann"); err != nil {
		t.Fatal(err)
	}
	c.Advance(DefaultPoll)
	if _, err := service.Get("ann"); err == nil {
		t.Error("a removed account is still there after the interval")
	}
}

// A mistake in the file is reported once, leaves the accounts as they were, and is over when it is
// mended.
func TestMistakeWhileRunning(t *testing.T) {
	var log bytes.Buffer
	c := newClock()
	a := openTest(t, AccountsOptions{Now: c.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mustAdd(t, a, NewAccount{Name: "ann"})
	good, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	breakages := map[string]func() error{
		"mistake": func() error { return os.WriteFile(a.path, append(good, "nonsense: 1\n"...), 0o600) },
		"missing": func() error { return os.Remove(a.path) },
	}
	for name, breakIt := range breakages {
		log.Reset()
		if err := breakIt(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.Advance(DefaultPoll)
			if _, err := a.Get("ann"); err != nil {
				t.Errorf("%s: the account is gone: %v", name, err)
			}
		}
		if n := strings.Count(log.String(), "last valid version"); n != 1 {
			t.Errorf("%s: reported %d times, want once:\n%s", name, n, &log)
		}
		if err := os.WriteFile(a.path, bytes.ReplaceAll(good, []byte("ann"), []byte("eve")), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Advance(DefaultPoll)
		if _, err := a.Get("eve"); err != nil {
			t.Errorf("%s: the mended file is not followed: %v", name, err)
		}
		if err := os.WriteFile(a.path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		c.Advance(DefaultPoll)
		a.List()
	}
}

func TestChangeRefusesToWriteOverAMistake(t *testing.T) {
	a := openTest(t, AccountsOptions{})
	mustAdd(t, a, NewAccount{Name: "ann"})
	broken := []byte("version: 1\naccounts: [\n")
	if err := os.WriteFile(a.path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := a.Add(context.Background(), NewAccount{Name: "bob", Password: goodPassword})
	wantKind(t, err, pfs.Invalid)
	if got, _ := os.ReadFile(a.path); !bytes.Equal(got, broken) {
		t.Errorf("the file was changed to %q", got)
	}
}

func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits on Windows")
	}
	a := openTest(t, AccountsOptions{})
	mustAdd(t, a, NewAccount{Name: "ann"})
	info, err := os.Stat(a.path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %04o, want 0600", got)
	}
	if err := os.Chmod(a.path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = OpenAccounts(a.path, AccountsOptions{})
	wantKind(t, err, pfs.Permission)
	if !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("error %q does not say what to do", err)
	}
}

func TestMakeDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := MakeDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	wantKind(t, MakeDir(dir), pfs.Permission)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeDir(filepath.Join(dir, "file")); err == nil {
		t.Error("MakeDir of a file succeeded")
	}
}

// A file that a crash left half written does not count and does not stay.
func TestLeftoverOfACrash(t *testing.T) {
	a := openTest(t, AccountsOptions{})
	if err := os.WriteFile(a.path+".new", []byte("version: 1\nacc"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, a, NewAccount{Name: "ann"})
	if _, err := os.Stat(a.path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("leftover: %v, want it gone", err)
	}
	if again, err := OpenAccounts(a.path, AccountsOptions{}); err != nil || len(again.List()) != 1 {
		t.Errorf("OpenAccounts: %v", err)
	}
}

// Several processes add accounts at the same time: all accounts exist, and no two share an
// identity.
func TestParallelProcesses(t *testing.T) {
	const processes, each = 4, 5
	if path := os.Getenv("PFS_TEST_ACCOUNTS"); path != "" {
		addAsProcess(t, path, os.Getenv("PFS_TEST_PROCESS"), each)
		return
	}
	path := filepath.Join(t.TempDir(), AccountsFile)
	var running []*exec.Cmd
	for i := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestParallelProcesses$")
		cmd.Env = append(os.Environ(), "PFS_TEST_ACCOUNTS="+path, fmt.Sprintf("PFS_TEST_PROCESS=%d", i))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process: %v\n%s", err, cmd.Stdout)
		}
	}
	a, err := OpenAccounts(path, AccountsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[int]string{}
	for _, acc := range a.List() {
		if other, ok := uids[acc.UID]; ok {
			t.Errorf("%q and %q share uid %d", acc.Name, other, acc.UID)
		}
		uids[acc.UID] = acc.Name
	}
	if got, want := len(uids), processes*each; got != want {
		t.Errorf("%d accounts, want %d", got, want)
	}
}

func addAsProcess(t *testing.T, path, process string, n int) {
	a, err := OpenAccounts(path, AccountsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		mustAdd(t, cheap(a), NewAccount{Name: fmt.Sprintf("user%d@%s.example", i, process)})
	}
}
