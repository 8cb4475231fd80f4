package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

const chunk = pfs.ChunkSize

var past = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// newJob makes a job that does not sleep.
func newJob(t testing.TB, o Options) *Job {
	t.Helper()
	if o.Retry == (retry.Policy{}) {
		o.Retry.Attempts = 8
	}
	o.Retry.Pause = 1
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	j.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return j
}

// noise returns n bytes that differ with the seed.
func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	rng.Read(p)
	return p
}

// put writes a file.
func put(t testing.TB, fsys pfs.FileSystem, name pfs.Path, data []byte) {
	t.Helper()
	ctx := context.Background()
	if err := pfs.MkdirAll(ctx, fsys, name.Parent(), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Create(ctx, name, pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(ctx, data, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(ctx, pfs.CommitOptions{Size: int64(len(data)), Mode: 0o640, ModTime: past}); err != nil {
		t.Fatal(err)
	}
}

// get reads a file.
func get(t testing.TB, fsys pfs.FileSystem, name pfs.Path) []byte {
	t.Helper()
	f, err := fsys.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := io.ReadAll(pfs.NewReader(context.Background(), f))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkFile(t testing.TB, fsys pfs.FileSystem, name pfs.Path, want []byte) {
	t.Helper()
	if got := get(t, fsys, name); !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes %s, want %d bytes %s", name, len(got), digest.Bytes(got), len(want), digest.Bytes(want))
	}
}

func checkKind(t testing.TB, err error, want pfs.Kind) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func checkAbsent(t testing.TB, fsys pfs.FileSystem, names ...pfs.Path) {
	t.Helper()
	for _, name := range names {
		if _, err := fsys.Stat(context.Background(), name); !errors.Is(err, pfs.NotExist) {
			t.Errorf("%s: got %v, want it absent", name, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns the paths below root, directories with a slash at the end, sorted.
func tree(t testing.TB, fsys pfs.FileSystem, root pfs.Path) string {
	t.Helper()
	var names []string
	err := pfs.Walk(context.Background(), fsys, root, func(p pfs.Path, info pfs.Info, err error) error {
		name := strings.TrimPrefix(string(p), string(root))
		switch {
		case err != nil || p == root:
			return err
		case info.IsDir():
			name += "/"
		case info.IsLink():
			name += "->" + info.Target
		}
		names = append(names, strings.TrimPrefix(name, "/"))
		return nil
	})
	must(t, err)
	slices.Sort(names)
	return strings.Join(names, " ")
}

// recorder keeps the events of a job.
type recorder struct {
	mu     sync.Mutex
	inside bool
	events []Event
	t      testing.TB
}

func (r *recorder) record(e Event) {
	r.mu.Lock()
	if r.inside {
		r.t.Error("two events at the same time")
	}
	r.inside = true
	r.mu.Unlock()
	r.mu.Lock()
	r.events = append(r.events, e)
	r.inside = false
	r.mu.Unlock()
}

// of returns the events of one kind.
func (r *recorder) of(kind EventKind) (es []Event) {
	for _, e := range r.events {
		if e.Kind == kind {
			es = append(es, e)
		}
	}
	return es
}
