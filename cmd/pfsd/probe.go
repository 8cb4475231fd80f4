package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// probeSize is the length of the file that a store is tried with, in bytes.
const probeSize = 64 << 10

// probeStore writes a file into a store, reads it back and removes it. The file has a
// name that no user can see: what users see is in /home and /public.
func probeStore(ctx context.Context, store pfs.FileSystem) (says string, err error) {
	if _, err := store.Stat(ctx, pfs.Root); err != nil {
		return "", step("looking at its root", err)
	}
	name := pfs.Root.Join("pfsd-check-" + pfs.NewID())
	data := make([]byte, probeSize)
	_, _ = rand.Read(data) // never fails
	if err := writeProbe(ctx, store, name, data); err != nil {
		return "", step("writing a file", err)
	}
	err = readProbe(ctx, store, name, data)
	if rerr := store.Remove(ctx, name); err == nil && rerr != nil {
		err = step("removing the file "+string(name), rerr)
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

// step says at what a store failed.
func step(doing string, err error) error {
	return pfs.Errorf("pfsd.probeStore", "", pfs.KindOf(err), "%s: %w", doing, err)
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
	const doing = "reading the file back"
	f, err := store.Open(ctx, name)
	if err != nil {
		return step(doing, err)
	}
	defer f.Close()
	got, err := io.ReadAll(pfs.NewReader(ctx, f))
	switch {
	case err != nil:
		return step(doing, err)
	case !bytes.Equal(got, data):
		return pfs.Errorf("pfsd.readProbe", "", pfs.Integrity, "%s: %d bytes came back that are not those that were written", doing, len(got))
	}
	return nil
}
