package sftpfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// gaps are what SFTP, and github.com/pkg/sftp, cannot do.
const gaps = pfstest.NoSetOwner | pfstest.NoReplication | pfstest.NoXattr | pfstest.NoHardLink | pfstest.NoMknod | pfstest.NoConcat | pfstest.NoAllocate |
	pfstest.NoQuota | pfstest.NoDigester | pfstest.NoBlockLocations | pfstest.NoCopy | pfstest.NoFileID | pfstest.NoLeafDigests |
	pfstest.NoKeptDigest | pfstest.NoCommitMemory | pfstest.WeakVersion | pfstest.NoHandleTime

// open opens the directory dir through server.
func open(t *testing.T, server *testbed.SSHServer, dir string, timeout time.Duration) *store {
	t.Helper()
	fsys, err := Open(t.Context(), options(server, dir, timeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	return fsys.(*store)
}

func options(server *testbed.SSHServer, dir string, timeout time.Duration) Options {
	return Options{Address: server.Address, Root: dir, User: server.User, Key: server.Key, KnownHosts: server.KnownHosts, Timeout: timeout}
}

// TestStore runs the suite over OpenSSH's server, with one connection for all tests.
func TestStore(t *testing.T) {
	t.Parallel()
	h := open(t, testbed.NewSSHServer(t), "/", 0).host
	names := 300
	if !testing.Short() {
		names = 0
	}
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			s, err := newStore(t.Context(), h, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem {
			s, err := newStore(t.Context(), h, fsys.(*store).root)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Gaps:     gaps,
		Times:    time.Second,
		Names:    names,
		Parallel: true,
	})
}

// TestOpen checks the refusals of Open.
func TestOpen(t *testing.T) {
	t.Parallel()
	server, other := testbed.NewSSHServer(t), testbed.NewSSHServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		change func(o *Options)
		want   pfs.Kind
	}{
		{func(o *Options) { o.User = "" }, pfs.Invalid},
		{func(o *Options) { o.KnownHosts = "" }, pfs.Invalid},
		{func(o *Options) { o.KnownHosts = file + "x" }, pfs.Invalid},
		{func(o *Options) { o.Key = "" }, pfs.Invalid},
		{func(o *Options) { o.Key = file }, pfs.Invalid},
		{func(o *Options) { o.Key = other.Key }, pfs.Permission},
		{func(o *Options) { o.KnownHosts = file }, pfs.Permission},
		{func(o *Options) { o.Root = dir + "/missing" }, pfs.NotExist},
		{func(o *Options) { o.Root = file }, pfs.NotDir},
		{func(o *Options) { o.Address = "127.0.0.1:1" }, pfs.Unavailable},
	} {
		o := options(server, dir, 5*time.Second)
		row.change(&o)
		fsys, err := Open(t.Context(), o)
		if err == nil {
			fsys.Close()
		}
		pfstest.WantKind(t, err, row.want)
	}
}
