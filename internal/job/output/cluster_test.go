//go:build unix

package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
)

// uploadTo uploads outputs to a real store while the program runs, and commits them.
func uploadTo(t *testing.T, store pfs.FileSystem, below pfs.Path) {
	t.Helper()
	r := newRig(t)
	r.opts.FS, r.opts.Dir, r.opts.Logs = store, below+dir, below+logs
	r.opts.Wait = 5 * time.Minute
	sent := make(chan bool, 1)
	r.opts.Progress = func(p Progress) {
		if p.Files >= 22 {
			select {
			case sent <- true:
			default:
			}
		}
	}
	big := strings.Repeat("0123456789abcdef", 9<<16)
	for i := range 20 {
		r.write("small/"+string(rune('a'+i)), strings.Repeat("x", i))
	}
	r.write("big", big)
	r.write("old/one", "one")
	if err := os.WriteFile(filepath.Join(r.opts.Rank.Logs(), job.LogName(1)), []byte("log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan *job.Uploaded)
	go func() { done <- r.upload() }()
	<-sent
	r.write("big", "small now")
	if err := os.RemoveAll(filepath.Join(r.opts.Rank.Output(), "old")); err != nil {
		t.Fatal(err)
	}
	r.exit(job.Exit{})
	if d := <-done; d.Marker != Success || d.Files != 21 {
		t.Errorf("%+v", d)
	}
	if report := r.want(Success, 21); !report.Whole() {
		t.Errorf("%+v", report)
	}
	if ok, err := pfs.Exists(t.Context(), store, r.opts.Dir.Join("old")); ok || err != nil {
		t.Errorf("the directory that was removed: %v, %v", ok, err)
	}
	// A second uploader is refused, whatever the store can do in one step.
	other := newRig(t)
	other.opts.FS, other.opts.Dir, other.opts.Logs = store, r.opts.Dir, r.opts.Logs
	other.exit(job.Exit{})
	if _, err := Upload(t.Context(), other.opts); pfs.KindOf(err) != pfs.Conflict {
		t.Errorf("a second uploader: %v", err)
	}
	r.want(Success, 21)
}

// TestHDFS uploads to HDFS.
func TestHDFS(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	store, err := hdfsfs.New(t.Context(), hdfsfs.Options{NameNodes: c.NameNodes, Root: c.Scratch(t), User: c.Superuser, BlockSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	uploadTo(t, store, "")
}
