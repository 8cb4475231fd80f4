package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// home is the home that newHome makes.
const home = "/pfs/dc/home/alice"

// newHome returns a file system with an empty home.
func newHome(t *testing.T) *memfs.FS {
	t.Helper()
	fsys := memfs.New(memfs.Options{})
	if err := pfs.MkdirAll(t.Context(), fsys, home, 0o755); err != nil {
		t.Fatal(err)
	}
	return fsys
}

// result is the output and exit code of a run.
type result struct {
	code           cliio.Code
	stdout, stderr string
}

// testMain returns a program whose service is fsys.
func testMain(t *testing.T, fsys pfs.FileSystem, args ...string) *app.Main {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	const text = "datacenters:\n- name: dc\n  username: alice\n  endpoint: https://x\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &app.Main{
		Program: commands,
		Args:    append([]string{"paddlectl"}, args...),
		Stdin:   strings.NewReader(""),
		Getenv: func(key string) string {
			if key == "PADDLE_CONFIG" {
				return name
			}
			return ""
		},
		Open: func(config.Entry) (pfs.FileSystem, error) { return fsys, nil },
	}
}

// run runs m and returns its result.
func run(t *testing.T, m *app.Main) result {
	t.Helper()
	var out, errs lockedBuffer
	if m.Stdout == nil {
		m.Stdout = &out
	}
	m.Stderr = &errs
	code := m.Run(t.Context())
	if line := repeated(errs.String()); line != "" {
		t.Errorf("%q: a message says something twice: %s", m.Args, line)
	}
	return result{cliio.Code(code), out.String(), errs.String()}
}

// lockedBuffer takes writes of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// hugeDir is a file system with one directory of very many entries, which it generates during the
// listing.
type hugeDir struct {
	pfs.FileSystem
	entries int
	unnamed []string
	listed  func(first int)
}

func (h *hugeDir) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if dir != home {
		return h.FileSystem.List(ctx, dir, opts)
	}
	first := 0
	fmt.Sscan(opts.Token, &first)
	h.listed(first)
	page := pfs.Page{Unnamed: h.unnamed}
	for i := first; i < min(first+pfs.MaxPage, h.entries); i++ {
		// Not in the order of their names.
		page.Entries = append(page.Entries, pfs.Info{Name: fmt.Sprintf("f%07d", (i*7919)%h.entries), Size: int64(i), Mode: 0o644})
	}
	if next := first + pfs.MaxPage; next < h.entries {
		page.Next = fmt.Sprint(next)
	}
	return page, nil
}

func TestHugeListingIsStreamed(t *testing.T) {
	const entries = 300_000
	out := &lockedBuffer{}
	started := -1
	h := &hugeDir{FileSystem: newHome(t), entries: entries, listed: func(first int) {
		if started < 0 && out.String() != "" {
			started = first
		}
	}}
	m := testMain(t, h, "ls", home)
	m.Stdout = out
	got := run(t, m)
	if got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	if lines := strings.Count(out.String(), "\n"); lines != entries {
		t.Errorf("%d lines, want %d", lines, entries)
	}
	if started < 0 || started > 100_000 {
		t.Errorf("the first line came when entry %d was asked for", started)
	}
	if n := strings.Count(got.stderr, "shown unsorted"); n != 1 {
		t.Errorf("%d notices, want 1: %s", n, got.stderr)
	}
}

func TestHugeListingIsSortedOnRequest(t *testing.T) {
	const entries = 100_003
	h := &hugeDir{FileSystem: newHome(t), entries: entries, listed: func(int) {}}
	got := run(t, testMain(t, h, "ls", "--sort", "name", home))
	if got.code != cliio.Done || got.stderr != "" {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	n := 0
	for line := range strings.Lines(got.stdout) {
		if want := fmt.Sprintf("f%07d\n", n); line != want {
			t.Fatalf("line %d is %q, want %q", n, line, want)
		}
		n++
	}
	if n != entries {
		t.Errorf("%d lines, want %d", n, entries)
	}
}

func TestListingIsSortedUpToTheBound(t *testing.T) {
	const sortedUpTo = 10_000
	for _, tt := range []struct {
		entries int
		sorted  bool
	}{{sortedUpTo, true}, {sortedUpTo + 1, true}, {3 * pfs.MaxPage, true}, {3*pfs.MaxPage + 1, false}} {
		h := &hugeDir{FileSystem: newHome(t), entries: tt.entries, listed: func(int) {}}
		got := run(t, testMain(t, h, "ls", home))
		if unsorted := strings.Contains(got.stderr, "unsorted"); unsorted == tt.sorted {
			t.Errorf("%d entries: sorted = %v, want %v", tt.entries, !unsorted, tt.sorted)
		}
	}
}

func TestUnnamedEntriesAreReported(t *testing.T) {
	for _, command := range []string{"ls", "tree", "du", "find"} {
		h := &hugeDir{FileSystem: newHome(t), entries: 1, unnamed: []string{`"\xff"`}, listed: func(int) {}}
		got := run(t, testMain(t, h, command, home))
		if got.code != cliio.Partly || !strings.Contains(got.stderr, `"\\xff"`) && !strings.Contains(got.stderr, `"\xff"`) {
			t.Errorf("%s: code %d, %q; want 8 and the name", command, got.code, got.stderr)
		}
	}
}

// interruptible interrupts the program when the n-th chunk is written, and goes on
// once it has noticed.
type interruptible struct {
	pfs.FileSystem
	mu         sync.Mutex
	left       int
	interrupts chan os.Signal
}

func (f *interruptible) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.FileSystem.Create(ctx, name, opts)
	return &interruptibleStaged{w, f}, err
}

type interruptibleStaged struct {
	pfs.Staged
	f *interruptible
}

func (w *interruptibleStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := w.Staged.WriteAt(ctx, p, off)
	w.f.mu.Lock()
	w.f.left--
	now := w.f.left == 0
	w.f.mu.Unlock()
	if now {
		w.f.interrupts <- os.Interrupt
		<-ctx.Done()
	}
	return n, err
}

func TestInterruptedCopyGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	data := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	for i := range 5 {
		data[i*pfs.ChunkSize] = byte(i)
	}
	if err := os.WriteFile("a file", data, 0o644); err != nil {
		t.Fatal(err)
	}
	fsys := newHome(t)
	f := &interruptible{FileSystem: fsys, left: 3, interrupts: make(chan os.Signal, 1)}
	m := testMain(t, f, "cp", "--parallel=1", "a file", home)
	m.Interrupts = f.interrupts
	got := run(t, m)
	if got.code != cliio.Interrupted {
		t.Fatalf("code %d, want 130: %s", got.code, got.stderr)
	}
	const want = "paddlectl: cp: interrupted: 0 of 1 file done; to resume, run the same command again\n" +
		"hint: paddlectl cp --parallel=1 'a file' /pfs/dc/home/alice\n"
	if got.stderr != want {
		t.Errorf("stderr = %q, want %q", got.stderr, want)
	}
	if _, err := fsys.Stat(t.Context(), home+"/a file"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("something is visible: %v", err)
	}

	again := run(t, testMain(t, fsys, "cp", "--parallel=1", "a file", home))
	if again.code != cliio.Done || !strings.Contains(again.stderr, "were already there") {
		t.Errorf("again: code %d: %s", again.code, again.stderr)
	}
	back := run(t, testMain(t, fsys, "cat", home+"/a file"))
	if back.stdout != string(data) {
		t.Errorf("%d bytes came back, and not those that went: %s", len(back.stdout), back.stderr)
	}
}

// full is a file system whose quota is used up.
type full struct{ pfs.FileSystem }

func (full) Create(context.Context, pfs.Path, pfs.CreateOptions) (pfs.Staged, error) {
	return nil, pfs.Errorf("full.Create", home, pfs.Quota, "nothing is left")
}

// TestUsedUpQuota names each file, also where the store names the directory with the quota.
func TestUsedUpQuota(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := run(t, testMain(t, full{newHome(t)}, "cp", "a", "b", "c", home))
	const hint = "hint: paddlectl quota /pfs/dc/home/alice shows use and quota\n"
	for _, want := range []string{"alice/a: quota", "alice/b: quota", "alice/c: quota", hint, "cp: 0 files, 0 B copied, 3 failed\n"} {
		if got.code != cliio.Failed || strings.Count(got.stderr, want) != 1 {
			t.Errorf("code %d, %q; want 1, %q once", got.code, got.stderr, want)
		}
	}
}

// fullSoon refuses files after a given number, with an error of a kind.
type fullSoon struct {
	pfs.FileSystem
	left atomic.Int32
	kind pfs.Kind
}

func (f *fullSoon) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if f.left.Add(-1) < 0 {
		return nil, pfs.E("fullSoon.Create", name, f.kind, nil)
	}
	return f.FileSystem.Create(ctx, name, opts)
}

// TestLinksThatTheStoreHasNot copies links to a store without links: the error names this, with a
// hint.
func TestLinksThatTheStoreHasNot(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("d", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/a", "d/b"} {
		if err := os.Symlink("x", name); err != nil {
			t.Skip("no such links here:", err)
		}
	}
	got := run(t, testMain(t, struct{ pfs.FileSystem }{newHome(t)}, "cp", "-r", "--links", "d/", home))
	const hint = "hint: --skip-links leaves links out; without --links their targets are copied\n"
	if n := strings.Count(got.stderr, "not supported by this store: symbolic links\n"); got.code != cliio.Partly || n != 2 || strings.Count(got.stderr, hint) != 1 {
		t.Errorf("code %d, %s", got.code, got.stderr)
	}
}

// fullOf has no space for any file.
type fullOf struct {
	pfs.FileSystem
	kind pfs.Kind
}

func (f fullOf) Create(_ context.Context, name pfs.Path, _ pfs.CreateOptions) (pfs.Staged, error) {
	return nil, pfs.Errorf("fullOf.Create", name, f.kind, "nothing is left")
}

func (f fullOf) WriteBatch(_ context.Context, entries []pfs.BatchEntry) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = pfs.Errorf("fullOf.WriteBatch", e.Path, f.kind, "nothing is left")
	}
	return errs
}

// TestFullStore names each file that was not copied, and gives the hint once.
func TestFullStore(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []pfs.Kind{pfs.Quota, pfs.NoSpace} {
		got := run(t, testMain(t, fullOf{newHome(t), kind}, "cp", "a", "b", "c", home))
		if n := strings.Count(got.stderr, kind.Error()); got.code != cliio.Failed || n != 3 || strings.Count(got.stderr, "hint: ") != 1 {
			t.Errorf("%v is told %d times, code %d, %q", kind, n, got.code, got.stderr)
		}
	}
}

func TestUsedUpQuotaTellsWhatWasCopied(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := &fullSoon{FileSystem: newHome(t), kind: pfs.Quota}
	f.left.Store(1)
	got := run(t, testMain(t, f, "cp", "--jobs=1", "a", "b", "c", home))
	if got.code == cliio.Done || !strings.Contains(got.stderr, "quota exceeded") || !strings.Contains(got.stderr, "1 file, 1 B copied") {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
}

// TestWhatWasNotTriedIsTold where a copy ends before it came to all files.
func TestWhatWasNotTriedIsTold(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("d", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if err := os.WriteFile(fmt.Sprint("d/f", i), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := &fullSoon{FileSystem: newHome(t), kind: pfs.Unauthenticated}
	f.left.Store(1)
	got := run(t, testMain(t, f, "cp", "--jobs=1", "-r", "d/", home))
	if got.code == cliio.Done || !strings.HasSuffix(got.stderr, " not tried\n") {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
}

func TestInterruptedStreamSaysSo(t *testing.T) {
	f := &interruptible{FileSystem: newHome(t), left: 1, interrupts: make(chan os.Signal, 1)}
	m := testMain(t, f, "cp", "-", home+"/x")
	m.Stdin = io.LimitReader(zeros{}, 100<<20)
	m.Interrupts = f.interrupts
	if got := run(t, m); got.code != cliio.Interrupted || !strings.Contains(got.stderr, "a stream cannot be resumed") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}

// TestInterruptedIsInTheSums in the word that the exit code has.
func TestInterruptedIsInTheSums(t *testing.T) {
	f := &interruptible{FileSystem: newHome(t), left: 1, interrupts: make(chan os.Signal, 1)}
	m := testMain(t, f, "cp", "--json", "-", home+"/x")
	m.Stdin = io.LimitReader(zeros{}, 100<<20)
	m.Interrupts = f.interrupts
	if got := run(t, m); got.code != cliio.Interrupted || !strings.HasSuffix(got.stdout, `"error":"interrupted"}`+"\n") {
		t.Errorf("code %d: %s", got.code, got.stdout)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestResultThatCannotBeWritten(t *testing.T) {
	m := testMain(t, newHome(t), "ls", "/pfs/dc")
	m.Stdout = fullDisk{}
	got := run(t, m)
	if got.code != cliio.Failed || !strings.Contains(got.stderr, "standard output: no space left on device") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}

// TestStrangeServices checks the messages about a server that is not a service, or has another
// version.
func TestStrangeServices(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		code   cliio.Code
		want   string
	}{
		{"a web server", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, cliio.Failed, "not as a pfs service"},
		{"another protocol", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Pfs-Protocol", "99") }, cliio.Failed, "protocol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			m := testMain(t, nil, "login", "--endpoint", server.URL, "--username", "alice", "--password-stdin")
			m.Open, m.Stdin = nil, strings.NewReader("secret\n")
			got := run(t, m)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("code %d, %q; want %d with %q", got.code, got.stderr, tt.code, tt.want)
			}
			if strings.Contains(got.stderr, "secret") {
				t.Errorf("the password is shown: %s", got.stderr)
			}
		})
	}
}

// TestWrongPort checks the message of login about a port that speaks neither TLS nor HTTP.
func TestWrongPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "SSH-2.0-test\r\n")
			conn.Close()
		}
	}()
	m := testMain(t, nil, "login", "--endpoint", "https://"+l.Addr().String(), "--username", "alice", "--password-stdin")
	m.Open, m.Stdin = nil, strings.NewReader("secret\n")
	const want = "does the endpoint name the port of pfsd?\n"
	if got := run(t, m); got.code != cliio.Unavailable || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("code %d, %q, want %q", got.code, got.stderr, want)
	}
}

// TestWrongScheme checks the messages about an endpoint whose scheme is not the server's: of login,
// and of a command with the endpoint in the configuration.
func TestWrongScheme(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	for endpoint, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):  "answers without TLS: the endpoint is " + plain.URL + "\n",
		strings.Replace(secure.URL, "https:", "http:", 1): "if it serves TLS, write https://\n",
	} {
		m := testMain(t, nil, "login", "--endpoint", endpoint, "--username", "alice", "--password-stdin")
		m.Open, m.Stdin = nil, strings.NewReader("secret\n")
		if got := run(t, m); got.code == cliio.Unavailable || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("login --endpoint %s: code %d, %q, want %q", endpoint, got.code, got.stderr, want)
		}
		m = testMain(t, nil, "ls", "/pfs/dc")
		m.Open = nil
		text := "datacenters:\n- name: dc\n  username: alice\n  password: secret\n  endpoint: " + endpoint + "\n"
		if err := os.WriteFile(m.Getenv("PADDLE_CONFIG"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, m); got.code == cliio.Unavailable || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("ls at %s: code %d, %q, want %q", endpoint, got.code, got.stderr, want)
		}
	}
}
