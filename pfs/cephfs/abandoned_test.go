//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// abandonChange begins a change of name that hangs until release is called, and returns once it was
// abandoned.
func (f FS) abandonChange(t *testing.T, name pfs.Path) (release func()) {
	t.Helper()
	hung, over := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-hung
		cancel()
	}()
	err := f.change(ctx, "cephfs.Test", name, func(d *dir, base string) error {
		return d.c.once(func(*cMount, *cPerms) error {
			close(hung)
			<-over
			return nil
		})
	})
	pfstest.WantKind(t, err, pfs.Canceled)
	return func() { close(over) }
}

// TestLateChange makes changes while an abandoned change may still happen. Changes of the same
// names wait for it, so that it does not undo a later successful change.
func TestLateChange(t *testing.T) {
	f := own(t)
	pfstest.MustMkdir(t, f, "/d")
	release := f.abandonChange(t, "/d/f")
	for _, tt := range []struct {
		name string
		do   func(short context.Context) error
	}{
		{"itself", func(short context.Context) error { return f.Mkdir(short, "/d/f", 0o755) }},
		{"below", func(short context.Context) error { return f.Mkdir(short, "/d/f/g", 0o755) }},
		{"above", func(short context.Context) error { return f.RemoveTree(short, "/d") }},
		{"from above", func(short context.Context) error { return f.Rename(short, "/d", "/e") }},
		{"to it", func(short context.Context) error { return f.Rename(short, "/other", "/d/f") }},
		{"staged", func(short context.Context) error { _, err := f.Create(short, "/d/f", pfs.CreateOptions{}); return err }},
		{"quota", func(short context.Context) error { return f.SetQuota(short, "/d", 1, 1) }},
		{"sweep", func(short context.Context) error { _, _, err := f.Sweep(short, pfs.Root, 0); return err }},
	} {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		kind := pfs.KindOf(tt.do(short))
		cancel()
		if kind != pfs.Canceled {
			t.Errorf("%s: %v, want that it waits", tt.name, kind)
		}
	}
	pfstest.MustMkdir(t, f, "/d/else")
	if _, err := f.Stat(t.Context(), "/d"); err != nil {
		t.Errorf("what changes nothing has to wait: %v", err)
	}
	release()
	pfstest.MustMkdir(t, f, "/d/f")
	pfstest.WantNames(t, f, "/d", "else", "f")
}

// TestLateChangeGivenUp waits longer than the timeout for an abandoned change: its mount is given
// up, so the change is not done any more.
func TestLateChangeGivenUp(t *testing.T) {
	f := faulty(t, testbed.Ceph(t))
	m := f.store.cur
	defer f.abandonChange(t, "/f")()
	pfstest.WantKind(t, f.Mkdir(t.Context(), "/f", 0o755), pfs.Unavailable)
	if !m.isDead() {
		t.Error("the mount lives on")
	}
	pfstest.MustMkdir(t, f, "/f")
}

// TestGiveUpInUse gives up mounts in use: the program and its readers continue.
func TestGiveUpInUse(t *testing.T) {
	f := own(t)
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	const readers = 8
	for range readers {
		go func() {
			for ctx.Err() == nil {
				if _, err := f.Stat(context.Background(), "/f"); err != nil && !errors.Is(err, pfs.Unavailable) {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range maxGivenUp - 1 {
		m, err := f.store.mounted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range readers {
			if _, err := f.Stat(t.Context(), "/f"); err != nil && !errors.Is(err, pfs.Unavailable) {
				t.Fatal(err)
			}
		}
		f.store.giveUp(m, errors.New("test"))
	}
	cancel()
	for range readers {
		if err := <-ended; err != nil {
			t.Errorf("Stat while mounts are given up: %v", err)
		}
	}
	pfstest.WantFile(t, f, "/f", []byte("content"))
}
