package mounting

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/stagefs"
)

// staged returns store with random writes, for a mount that can change it. Stores that always have them are returned as
// they are.
func (o options) staged(store tree, opts fuse.Options, user, mountPoint string) (tree, fuse.Options, error) {
	opts = o.behind(opts)
	if o.store != "" && !strings.HasPrefix(o.store, "hdfs:") {
		return store, opts, nil
	}
	s, err := o.staging(opts, user, mountPoint)
	if err != nil {
		return store, opts, err
	}
	if s.Resume = opts.Broker != nil && opts.Broker.Replacements() > 0; s.Resume {
		if _, err := opts.Broker.Connect(mountPoint, opts); err != nil { // until its end, the server before this one has the directory
			return store, opts, err
		}
	}
	f, err := stagefs.New(store.FileSystem, s)
	if pfs.KindOf(err) == pfs.Exist {
		err = pfs.Errorf("mounting.Mount", "", pfs.Exist, "%s is mounted already, or the process of its last mount has not ended (%s is in use)", mountPoint, s.Dir)
	}
	if err != nil {
		return store, opts, err
	}
	closeStore := store.close
	store.FileSystem, store.close = f, func(ctx context.Context) error {
		err := f.Flush(ctx)
		for _, left := range f.Status() {
			opts.Logger.Warn("this file is not on the store; the next mount uploads what was closed", "path", left.Path, "state", left.State,
				"bytes", left.Bytes, "data", left.Data, "reason", left.Reason)
		}
		return errors.Join(err, f.Close(), closeStore(ctx))
	}
	opts.Pending = func() any { return shown(f.Status()) }
	opts.Control = func(ctx context.Context, command string) error {
		command, id, _ := strings.Cut(command, "/")
		switch command {
		case flushCommand:
			return f.Flush(ctx)
		case publishCommand:
			return f.Publish(ctx, id)
		case discardCommand:
			return f.Discard(ctx, id)
		}
		return pfs.Errorf("mounting.control", "", pfs.Unsupported, "the process of this mount does not know the command %q", command)
	}
	return store, opts, nil
}

// staging returns where files are staged: beside the cache, apart for each tree, account and mount point.
func (o options) staging(opts fuse.Options, user, mountPoint string) (s stagefs.Options, err error) {
	top, err := o.localDir()
	if err == nil {
		mountPoint, err = filepath.Abs(mountPoint)
	}
	if err != nil {
		return s, pfs.Errorf("mounting.Mount", "", pfs.Invalid, "a mount needs a directory for what is written: name one with --cache-dir, or mount with --read-only (%w)", err)
	}
	tree := filepath.Join(top, fmt.Sprintf("staging-%d-%s", os.Getuid(), short(opts.Source, user)))
	return stagefs.Options{Dir: tree + "-" + short(mountPoint), Others: tree + "-*", Logger: opts.Logger}, nil
}

// localDir returns the first cache directory.
func (o options) localDir() (string, error) {
	if len(o.cacheDirs) > 0 {
		return filepath.Abs(o.cacheDirs[0])
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "pfs"), err
}

// behind returns opts with a directory for what is written behind, where the store is not on this machine.
func (o options) behind(opts fuse.Options) fuse.Options {
	if o.store != "" && !strings.HasPrefix(o.store, "cephfs:") {
		return opts
	}
	dir, err := o.localDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		opts.Logger.Warn("each write waits for the store; --cache-dir names a directory for what is on its way", "error", err)
		return opts
	}
	opts.WriteBehind = dir
	return opts
}

// short returns a short hash of words.
func short(words ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", words)))[:12]
}

// shown returns what a status shows of all: as many files as surely fit.
func shown(all []stagefs.Status) Pending {
	const most = 100
	p := Pending{Files: len(all), List: []pendingFile{}}
	size := 0
	for _, s := range all {
		p.Bytes += s.Bytes
		size += 300 + 2*len(s.Path) + 2*len(s.Data) + 2*len(s.Reason)
		if len(p.List) < most && size < 24<<10 {
			p.List = append(p.List, pendingFile{string(s.Path), s.State, s.Bytes, s.Since, s.Reason, s.ID, s.Data})
		}
	}
	return p
}
