package main

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// buggy panics when it is asked.
type buggy struct{ pfs.FileSystem }

func (buggy) Stat(context.Context, pfs.Path) (pfs.Info, error) { panic("no such luck") }

func TestAStoreThatPanicsIsDown(t *testing.T) {
	m := memfs.New(memfs.Options{})
	s := &service{log: slog.New(slog.NewTextHandler(io.Discard, nil)), stores: map[string]pfs.FileSystem{"a": m, "b": buggy{m}}}
	if got := s.down(t.Context()); !slices.Equal(got, []string{"b"}) {
		t.Errorf("down = %q, want b", got)
	}
}
