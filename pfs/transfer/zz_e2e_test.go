package transfer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

type env struct {
	src, dst, down *localfs.FS
	remote         pfs.FileSystem
	dir            string
}

func newEnv(t testing.TB) env {
	base := os.Getenv("E2E_DIR")
	dir, err := os.MkdirTemp(base, "e2e")
	if err != nil { t.Fatal(err) }
	t.Cleanup(func() { os.RemoveAll(dir) })
	mk := func(n string, o localfs.Options) *localfs.FS {
		os.Mkdir(filepath.Join(dir, n), 0o755)
		f, err := localfs.New(filepath.Join(dir, n), o)
		if err != nil { t.Fatal(err) }
		t.Cleanup(func() { f.Close() })
		return f
	}
	e := env{src: mk("src", localfs.Options{FollowLinks: true}), dst: mk("dst", localfs.Options{}), down: mk("down", localfs.Options{FollowLinks: true}), dir: dir}
	s := serve(t, e.dst)
	e.remote = s.connect(t, s.URL)
	return e
}

func timed(t testing.TB, what string, fn func() error) {
	start := time.Now()
	if err := fn(); err != nil { t.Fatal(what, err) }
	t.Logf("%s: %v", what, time.Since(start))
}

func run(o transfer.Options, a, b transfer.End) error {
	j, err := transfer.New(o)
	if err != nil { return err }
	err = j.Copy(context.Background(), a, b)
	return err
}

func TestE2EBig(t *testing.T) {
	e := newEnv(t)
	f, _ := os.Create(filepath.Join(e.dir, "src/big"))
	buf := make([]byte, 4<<20)
	for i := range 512 { 
		for k := 0; k < len(buf); k += 8 { buf[k] = byte(i + k>>3); buf[k+1] = byte(k >> 11) }
		f.Write(buf) }
	f.Sync(); f.Close()
	big := transfer.End{FS: e.src, Path: "/big"}
	for range 2 {
		timed(t, "local copy", func() error { return run(transfer.Options{NewTime: true}, big, transfer.End{FS: e.down, Path: "/local"}) })
		os.Remove(filepath.Join(e.dir, "down/local"))
		timed(t, "upload", func() error { return run(transfer.Options{}, big, transfer.End{FS: e.remote, Path: "/big"}) })
		timed(t, "download", func() error { return run(transfer.Options{}, transfer.End{FS: e.remote, Path: "/big"}, transfer.End{FS: e.down, Path: "/big"}) })
		os.Remove(filepath.Join(e.dir, "down/big"))
		os.Remove(filepath.Join(e.dir, "dst/big"))
	}
	timed(t, "upload", func() error { return run(transfer.Options{}, big, transfer.End{FS: e.remote, Path: "/big"}) })
	timed(t, "verify", func() error { j, _ := transfer.New(transfer.Options{}); return j.Verify(context.Background(), big, transfer.End{FS: e.remote, Path: "/big"}) })
	for _, dir := range []string{"up", "down"} {
		ctx, cancel := context.WithCancel(context.Background())
		a, b := big, transfer.End{FS: e.remote, Path: "/again"}
		if dir == "down" { a, b = transfer.End{FS: e.remote, Path: "/big"}, transfer.End{FS: e.down, Path: "/again"} }
		var j *transfer.Job
		var n atomic.Int64
		j, _ = transfer.New(transfer.Options{Events: func(ev transfer.Event) { if ev.Bytes > 1<<30 && n.Add(1) == 1 { cancel() } }})
		err := j.Copy(ctx, a, b)
		t.Log(dir, "interrupted:", err, j.Stats().BytesDone>>20)
		j, _ = transfer.New(transfer.Options{})
		timed(t, dir+" resumed", func() error { return j.Copy(context.Background(), a, b) })
		t.Log("resumed bytes", j.Stats().BytesResumed>>20)
		timed(t, "again (same)", func() error { return run(transfer.Options{}, a, b) })
	}
}

func TestE2ESmall(t *testing.T) {
	e := newEnv(t)
	data := []byte(strings.Repeat("x", 4096))
	for i := range 10000 {
		d := filepath.Join(e.dir, fmt.Sprintf("src/s/%d", i%100))
		os.MkdirAll(d, 0o755)
		copy(data, fmt.Sprint(i))
		os.WriteFile(filepath.Join(d, fmt.Sprint(i)), data, 0o644)
	}
	s := transfer.End{FS: e.src, Path: "/s"}
	for i := range 2 {
		r := transfer.End{FS: e.remote, Path: pfs.Path(fmt.Sprintf("/r%d", i))}
		timed(t, "upload", func() error { return run(transfer.Options{}, s, r) })
		timed(t, "upload again", func() error { return run(transfer.Options{}, s, r) })
		timed(t, "download", func() error { return run(transfer.Options{}, r, transfer.End{FS: e.down, Path: pfs.Path(fmt.Sprintf("/r%d", i))}) })
		timed(t, "local", func() error { return run(transfer.Options{}, s, transfer.End{FS: e.down, Path: pfs.Path(fmt.Sprintf("/l%d", i))}) })
		timed(t, "inside", func() error { return run(transfer.Options{}, r, transfer.End{FS: e.remote, Path: pfs.Path(fmt.Sprintf("/c%d", i))}) })
		timed(t, "verify", func() error { j, _ := transfer.New(transfer.Options{}); return j.Verify(context.Background(), s, r) })
		timed(t, "delete mirror", func() error { return run(transfer.Options{Delete: true}, s, r) })
	}
}
