package main

import (
	"errors"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestHandles opens files through the whole service, within the limit and with the permission
// of the account. An account that is removed loses its handles.
func TestHandles(t *testing.T) {
	ctx := t.Context()
	r := start(t, dataFor(t), "--no-tls", "--max-handles", "8")
	ann, _ := r.login(t, "ann")
	const name = pfs.Path("/pfs/local/home/ann/f")
	const flags = pfs.OpenRead | pfs.OpenWrite | pfs.OpenCreate
	h, err := ann.OpenHandle(ctx, name, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := ann.Rename(ctx, name, name+"2"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.WriteAt(ctx, []byte("content"), 0); err != nil {
		t.Fatal(err)
	}
	if err := h.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := ann.Stat(ctx, name+"2"); err != nil || info.Size != 7 || info.ID == 0 {
		t.Errorf("%+v, %v", info, err)
	}
	second, err := ann.OpenHandle(ctx, name, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.OpenHandle(ctx, name, flags, 0o600); !errors.Is(err, pfs.Limit) {
		t.Errorf("a third handle of 8 for all: %v", err)
	}
	bob, _ := r.login(t, "bob")
	if _, err := bob.OpenHandle(ctx, name, pfs.OpenRead, 0); !errors.Is(err, pfs.NotExist) && !errors.Is(err, pfs.Permission) {
		t.Errorf("bob opens what is ann's: %v", err)
	}
	if err := second.Close(ctx); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "", "user", "rm", "ann", "--data", r.data)
	r.login(t, "bob") // a login reads the accounts again at once
	if _, err := h.Stat(ctx); !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("a handle of an account that was removed: %v", err)
	}
}
