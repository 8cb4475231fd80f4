package files

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// A source that changed during the copy is not removed, even if its size and the second of its time
// are the same.
func TestMoveRemovesWhatWasCopied(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	for _, c := range []struct {
		name         string
		copied, then time.Time // of the target, and of the source when it is to be removed
		kept         bool
	}{
		{"nanoseconds", at, at, false},
		{"milliseconds", at.Truncate(time.Millisecond), at, false},
		{"seconds", at.Truncate(time.Second), at, false},
		{"written again", at, at.Add(1), true},
		{"written again, milliseconds", at.Truncate(time.Millisecond), at.Add(2 * time.Millisecond), true},
		{"written again, seconds", at.Truncate(time.Second), at.Add(time.Second), true},
	} {
		from, to := transfer.End{FS: memfs.New(memfs.Options{}), Path: "/a"}, transfer.End{FS: memfs.New(memfs.Options{}), Path: "/b"}
		for end, when := range map[transfer.End]time.Time{from: c.then, to: c.copied} {
			pfstest.WriteFileWith(t, end.FS, end.Path, []byte("text"), pfs.CommitOptions{ModTime: when})
		}
		err := new(mover).removeFile(t.Context(), from, to, pfstest.MustStat(t, from.FS, from.Path))
		if errors.Is(err, pfs.Conflict) != c.kept || err != nil && !c.kept {
			t.Errorf("%s: got %v, want it kept: %v", c.name, err, c.kept)
		}
		if _, err := from.FS.Stat(t.Context(), from.Path); errors.Is(err, pfs.NotExist) == c.kept {
			t.Errorf("%s: stat of the source: %v", c.name, err)
		}
	}
}

// A source without a copy stays, and the error names it: nothing is lost.
func TestMoveKeepsWhatCameMeanwhile(t *testing.T) {
	from, to := transfer.End{FS: memfs.New(memfs.Options{}), Path: "/a"}, transfer.End{FS: memfs.New(memfs.Options{}), Path: "/b"}
	info := pfstest.WriteFile(t, from.FS, from.Path, []byte("text"))
	err := new(mover).removeFile(t.Context(), from, to, info)
	var e *pfs.Error
	if !errors.As(err, &e) || e.Kind != pfs.Conflict || e.Path != from.Path {
		t.Errorf("got %v", err)
	}
	pfstest.WantFile(t, from.FS, from.Path, []byte("text"))
}

// killedStore executes operations, and answers like a service that was killed before its response,
// restarted and called again.
type killedStore struct{ *memfs.FS }

func (k killedStore) Rename(ctx context.Context, from, to pfs.Path) error {
	if err := k.FS.Rename(ctx, from, to); err != nil {
		return err
	}
	return k.FS.Rename(ctx, from, to)
}

func (k killedStore) RenameExclusive(ctx context.Context, from, to pfs.Path) error {
	if err := k.FS.RenameExclusive(ctx, from, to); err != nil {
		return err
	}
	return k.FS.RenameExclusive(ctx, from, to)
}

func (k killedStore) Remove(ctx context.Context, name pfs.Path) error {
	if err := k.FS.Remove(ctx, name); err != nil {
		return err
	}
	return k.FS.Remove(ctx, name)
}

func (k killedStore) RemoveTree(ctx context.Context, name pfs.Path) error {
	if err := k.FS.RemoveTree(ctx, name); err != nil {
		return err
	}
	return k.FS.RemoveTree(ctx, name)
}

// An operation that a service completed before it was killed is not a failure of the command that
// repeats it.
func TestServiceKilledBeforeItAnswered(t *testing.T) {
	const dir = pfs.Path("/pfs/dc/home/alice")
	f := killedStore{memfs.New(memfs.Options{})}
	if err := pfs.MkdirAll(t.Context(), f, dir.Join("sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, f, dir.Join("f"), []byte("text"))
	pfstest.WriteFile(t, f, dir.Join("sub/f"), []byte("text"))
	move := func(m mover, from, to string) error {
		return m.rename(t.Context(), app.Target{FS: f, Path: dir.Join(from)}, dir.Join(to))
	}
	remove := func(o rm, name string) error {
		o.App = &app.App{}
		return o.remove(t.Context(), app.Target{FS: f, Path: dir.Join(name)})
	}
	for _, step := range []struct {
		name    string
		do      func() error
		missing bool // NotExist is wanted
	}{
		{"mv", func() error { return move(mover{}, "f", "g") }, false},
		{"mv -n", func() error { return move(mover{noClobber: true}, "g", "h") }, false},
		{"mv of a directory", func() error { return move(mover{}, "sub", "moved") }, false},
		{"mv of what is not there", func() error { return move(mover{}, "f", "h") }, true},
		{"rm", func() error { return remove(rm{}, "h") }, false},
		{"rm of what is not there", func() error { return remove(rm{}, "h") }, true},
		{"rm -r", func() error { return remove(rm{recursive: true}, "moved") }, false},
	} {
		if err := step.do(); errors.Is(err, pfs.NotExist) != step.missing || err != nil && !step.missing {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	pfstest.WantNames(t, f, dir)
}
