package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
)

// probeSize is the size of the test file, in bytes.
const probeSize = 64 << 10

// probeStore writes a file into a directory of a store, reads it back and removes it. The name of
// the file is hidden from users, who see only home and public.
func (t *trial) probeStore(ctx context.Context, store pfs.FileSystem, dir pfs.Path) (says string, err error) {
	t.doing("looking at its directory")
	if _, err := store.Stat(ctx, dir); err != nil {
		return "", t.fail(err)
	}
	name := dir.Join("pfsd-check-" + pfs.NewID())
	data := make([]byte, probeSize)
	_, _ = rand.Read(data) // never fails
	t.doing("writing a file")
	if err := writeProbe(ctx, store, name, data); err != nil {
		err = lacking(ctx, store, dir, err)
		if pfs.KindOf(err) == pfs.Unavailable { // it may have been written although the answer was lost
			_ = store.Remove(context.WithoutCancel(ctx), name)
		}
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
	if space, err := pfs.SpaceOf(ctx, store, dir); err == nil && space.Total > 0 {
		says += fmt.Sprintf("; %s of %s free", cliio.Size(space.Free), cliio.Size(space.Total))
	}
	return says, nil
}

// lacking adds the missing right, and who can grant it, to a Permission error about dir, if the
// store knows.
func lacking(ctx context.Context, store pfs.FileSystem, dir pfs.Path, err error) error {
	s, ok := store.(interface {
		MissingRight(ctx context.Context, dir pfs.Path) string
	})
	if !ok || !errors.Is(err, pfs.Permission) {
		return err
	}
	if missing := s.MissingRight(ctx, dir); missing != "" {
		return pfs.Errorf("pfsd.lacking", "", pfs.Permission, "%w: %s", err, missing)
	}
	return err
}

// removeStage removes the directories that a store made for the test file.
func removeStage(ctx context.Context, store pfs.FileSystem) {
	if s, ok := store.(interface{ RemoveStage(ctx context.Context) }); ok {
		s.RemoveStage(context.WithoutCancel(ctx))
	}
}

func writeProbe(ctx context.Context, store pfs.FileSystem, name pfs.Path, data []byte) error {
	w, err := store.Create(ctx, name, pfs.CreateOptions{Size: int64(len(data))})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
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
		return pfs.Errorf("pfsd.readProbe", "", pfs.Integrity, "the %d bytes read back differ from those written", len(got))
	}
	return nil
}

// probe tests the store of a datacenter with its settings.
func (t *trial) probe(ctx context.Context, d datacenter, store pfs.FileSystem) (says string, err error) {
	dir := d.ownDir(ctx, store)
	says, err = t.probeStore(ctx, store, dir)
	if err != nil {
		return "", err
	}
	if err := t.probeOwner(ctx, d, store, dir); err != nil {
		return "", err
	}
	if err := t.probeQuota(ctx, d, store, dir); err != nil {
		return "", err
	}
	t.doing("looking at what is mapped")
	if err := d.in(store).CheckMapped(ctx); err != nil {
		return "", err
	}
	if len(d.mounts) > 0 {
		says += fmt.Sprintf("; directories mapped: %d", len(d.mounts))
	}
	return says, nil
}

// probeOwner gives a directory to a user, if files belong to users.
func (t *trial) probeOwner(ctx context.Context, d datacenter, store pfs.FileSystem, dir pfs.Path) error {
	given, err := pfs.WithOwner(store, pfs.Owner{Name: "nobody", UID: 65534, GID: 65534})
	if d.serviceOwns || errors.Is(err, pfs.Unsupported) {
		return nil
	}
	defer removeStage(ctx, given)
	name := dir.Join("pfsd-check-" + pfs.NewID())
	t.doing("giving a directory to a user, which takes the rights of a superuser there (\"owners: service\" does without)")
	if err == nil {
		err = given.Mkdir(ctx, name, 0o700)
	}
	if err != nil {
		return t.fail(err)
	}
	t.doing("removing the directory " + string(name))
	if err := store.Remove(ctx, name); err != nil {
		return t.fail(err)
	}
	return nil
}

// probeQuota sets a quota on a directory, if homes have a default.
func (t *trial) probeQuota(ctx context.Context, d datacenter, store pfs.FileSystem, dir pfs.Path) error {
	if d.homeQuota == (namespace.Quota{}) {
		return nil
	}
	name := dir.Join("pfsd-check-" + pfs.NewID())
	t.doing("making a directory")
	if err := store.Mkdir(ctx, name, 0o700); err != nil {
		return t.fail(err)
	}
	t.doing("setting a quota, as \"" + keyHomeQuota + ":\" asks for")
	err := pfs.SetQuota(ctx, store, name, d.homeQuota.Bytes, d.homeQuota.Files)
	if err != nil {
		err = t.fail(err)
	}
	t.doing("removing the directory " + string(name))
	if rerr := store.Remove(context.WithoutCancel(ctx), name); err == nil && rerr != nil {
		err = t.fail(rerr)
	}
	return err
}

// ownDir returns the service's own directory on the store, or its parent if it does not exist yet.
func (d datacenter) ownDir(ctx context.Context, store pfs.FileSystem) pfs.Path {
	if d.dir == "" {
		return pfs.Root
	}
	if _, err := store.Stat(ctx, d.dir); errors.Is(err, pfs.NotExist) {
		return d.dir.Parent()
	}
	return d.dir
}
