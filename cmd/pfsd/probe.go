package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// probeSize is the length of the file that a store is tried with, in bytes.
const probeSize = 64 << 10

// trial is the try of one thing. It knows how far it came.
type trial struct {
	mu   sync.Mutex
	step string
}

// doing notes what comes now.
func (t *trial) doing(step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.step = step
}

// late is the error of a trial that did not end in time.
func (t *trial) late(ctx context.Context, limit time.Duration) error {
	const op = "pfsd.check"
	t.mu.Lock()
	defer t.mu.Unlock()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pfs.E(op, "", pfs.Canceled, ctx.Err())
	}
	return pfs.Errorf(op, "", pfs.Unavailable, "no answer within %v while %s", limit, cmp.Or(t.step, "reading files"))
}

// fail says at what a store failed.
func (t *trial) fail(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pfs.Errorf("pfsd.probeStore", "", pfs.KindOf(err), "%s: %w", t.step, cause(err))
}

// probeStore writes a file into a store, reads it back and removes it. The file has a
// name that no user can see: what users see is in /home and /public.
func (t *trial) probeStore(ctx context.Context, store pfs.FileSystem) (says string, err error) {
	t.doing("looking at its root")
	if _, err := store.Stat(ctx, pfs.Root); err != nil {
		return "", t.fail(err)
	}
	name := pfs.Root.Join("pfsd-check-" + pfs.NewID())
	data := make([]byte, probeSize)
	_, _ = rand.Read(data) // never fails
	t.doing("writing a file")
	if err := writeProbe(ctx, store, name, data); err != nil {
		return "", t.fail(err)
	}
	t.doing("reading the file back")
	if err = readProbe(ctx, store, name, data); err != nil {
		err = t.fail(err)
	}
	t.doing("removing the file " + string(name))
	if rerr := store.Remove(ctx, name); err == nil && rerr != nil {
		err = t.fail(rerr)
	}
	if err != nil {
		return "", err
	}
	says = "wrote, read back and removed a file"
	if space, err := pfs.SpaceOf(ctx, store, pfs.Root); err == nil && space.Total > 0 {
		says += fmt.Sprintf("; %s of %s free", cliio.Size(space.Free), cliio.Size(space.Total))
	}
	return says, nil
}

func writeProbe(ctx context.Context, store pfs.FileSystem, name pfs.Path, data []byte) error {
	w, err := store.Create(ctx, name, pfs.CreateOptions{Size: int64(len(data))})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.WriteAt(ctx, data, 0); err != nil {
		return err
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: int64(len(data))})
	return err
}

func readProbe(ctx context.Context, store pfs.FileSystem, name pfs.Path, data []byte) error {
	f, err := store.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(pfs.NewReader(ctx, f))
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, data):
		return pfs.Errorf("pfsd.readProbe", "", pfs.Integrity, "%d bytes came back that are not those that were written", len(got))
	}
	return nil
}
