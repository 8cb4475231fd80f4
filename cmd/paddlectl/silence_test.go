package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// silentBelow is a file system in which nothing answers that is listed below some
// directories, and nothing at all once such a directory was listed.
type silentBelow struct {
	pfs.FileSystem
	asked atomic.Int64 // calls without an answer
	gone  atomic.Bool
}

const silentStore = "/pfs/dc/"

func (s *silentBelow) answer(name pfs.Path) error {
	if s.gone.Load() && strings.HasPrefix(string(name), silentStore) {
		s.asked.Add(1)
		return pfs.Errorf("test", name, pfs.Unavailable, "the store is silent")
	}
	return nil
}

func (s *silentBelow) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if err := s.answer(name); err != nil {
		return pfs.Info{}, err
	}
	return s.FileSystem.Stat(ctx, name)
}

func (s *silentBelow) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if strings.HasPrefix(string(dir), home+"/t") && dir != home+"/t" {
		s.gone.Store(true)
	}
	if err := s.answer(dir); err != nil {
		return pfs.Page{}, err
	}
	return s.FileSystem.List(ctx, dir, opts)
}

func (s *silentBelow) Remove(ctx context.Context, name pfs.Path) error {
	s.gone.Store(true)
	return s.answer(name)
}

// TestSilentStoreIsLeft checks that a command makes no further call to a store that did not answer
// within the retry budget, and continues with other stores.
func TestSilentStoreIsLeft(t *testing.T) {
	const other = "/pfs/other/home/alice"
	for _, tt := range []struct {
		args  string
		code  cliio.Code
		other string // output for the other datacenter
	}{
		{args: "tree " + home + "/t", code: cliio.Unavailable},
		{args: "ls -R " + home + "/t", code: cliio.Unavailable},
		{args: "du " + home + "/t", code: cliio.Unavailable},
		{args: "find " + home + "/t", code: cliio.Unavailable},
		{args: "tree /pfs", code: cliio.Partly, other: "└── there"},
		{args: "ls -R /pfs", code: cliio.Partly, other: "there"},
		{args: "du /pfs", code: cliio.Partly, other: other},
		{args: "find /pfs", code: cliio.Partly, other: other + "/there"},
		{args: "find " + home + "/t /pfs/other", code: cliio.Partly, other: other + "/there"},
		{args: "rm " + home + "/f1 " + home + "/f2 " + home + "/f3", code: cliio.Unavailable},
		{args: "rm " + home + "/f?", code: cliio.Unavailable},
		{args: "ls " + home + "/t/d1 " + home + "/t/d2 " + home + "/t/d3", code: cliio.Unavailable},
	} {
		t.Run(tt.args, func(t *testing.T) {
			fsys := newHome(t)
			for _, dir := range []pfs.Path{home + "/t/d1", home + "/t/d2/e", home + "/t/d3", other} {
				if err := pfs.MkdirAll(t.Context(), fsys, dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []pfs.Path{home + "/f1", home + "/f2", home + "/f3", other + "/there"} {
				pfstest.WriteFile(t, fsys, file, []byte("there"))
			}
			s := &silentBelow{FileSystem: fsys}
			got := run(t, testMain(t, s, strings.Fields(tt.args)...))
			if got.code != tt.code || s.asked.Load() != 1 {
				t.Errorf("exit %d after %d questions in vain, want %d after 1\n%s", got.code, s.asked.Load(), tt.code, got.stderr)
			}
			if !strings.Contains(got.stderr, "the store is silent") || !strings.Contains(got.stdout, tt.other) {
				t.Errorf("it said\n%s%s", got.stdout, got.stderr)
			}
		})
	}
}
