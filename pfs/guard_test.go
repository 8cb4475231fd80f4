package pfs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// buggy panics on the file /bug.
type buggy struct{ pfs.FileSystem }

func (b buggy) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if name == "/bug" {
		panic("no such luck")
	}
	return b.FileSystem.Open(ctx, name)
}

// TestReadBatchOutlivesAPanic: a panic fails only the file that it occurred at.
func TestReadBatchOutlivesAPanic(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, m, "/f", []byte("12345"))
	files := []pfs.BatchFile{{Path: "/bug"}, {Path: "/f", Data: make([]byte, 5)}}
	errs := pfs.ReadBatch(t.Context(), buggy{m}, files)
	if errs[1] != nil || string(files[1].Data) != "12345" {
		t.Errorf("the other file: %q, %v", files[1].Data, errs[1])
	}
	var e *pfs.Error
	if !errors.As(errs[0], &e) || e.Kind != pfs.Other || e.Op != "pfs.ReadBatch" || e.Path != "/bug" {
		t.Fatalf("the file with the panic: %#v", errs[0])
	}
	if text := e.Error(); !strings.Contains(text, "a bug in the program: no such luck") || strings.Contains(text, "guard_test.go") {
		t.Errorf("the error says %q", text)
	}
	wrapped := pfs.Errorf("test.Op", "", pfs.Other, "%w", e)
	if text := pfs.Detail(wrapped); !strings.Contains(text, "guard_test.go") {
		t.Errorf("the log says %q, which has no stack", text)
	}
}
