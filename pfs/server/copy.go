package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// copyMemory bounds the bytes that all copies between stores hold at one time, and
	// copyShare those of one user.
	copyMemory = 128 << 20
	copyShare  = copyMemory / 4
	// copyPatience is how long a copy waits for memory while none is freed. Then the copies
	// that hold it probably hang, and the client is answered Limit.
	copyPatience = 30 * time.Second
)

// copyCall copies a file inside the service: by its store where that can, else through this
// process.
func (s *Server) copyCall(ctx context.Context, r *request, q wire.CopyRequest, progress func(int64)) (reply wire.InfoReply, err error) {
	src, dst, err := parseTwo(q.Source, q.Target)
	if err != nil {
		return reply, err
	}
	if err := (pfs.CreateOptions{ID: q.ID}).Check("server.copy", dst); err != nil {
		return reply, err
	}
	c := newCopy(r, q.ID, src, dst)
	done, err := s.copying.acquire(ctx, string(c))
	if err != nil {
		return reply, pfs.Errorf("server.copy", dst, pfs.KindOf(err), "another copy under this ID is in progress: %w", err)
	}
	defer done()
	id, err := c.versionID(ctx, r.tree, src)
	if err != nil {
		return reply, err
	}
	opts := pfs.CopyOptions{ID: id, NoReplace: q.NoReplace, NewTime: q.NewTime}
	info, err := pfs.CopyInside(ctx, r.tree, src, dst, opts, progress)
	if errors.Is(err, pfs.CrossStore) || errors.Is(err, pfs.Unsupported) {
		opts.ID = "" // the job makes it of the version that it opens
		info, err = s.copyThrough(ctx, r, c, src, dst, opts, progress)
	}
	return wire.InfoReply{Info: wire.NewInfo(info)}, err
}

// copyThrough copies through this process, several chunks at a time. It skips chunks that an
// earlier copy of the same ID has staged, and compares the whole with the stored digest of the
// source.
func (s *Server) copyThrough(ctx context.Context, r *request, c copyName, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	pool, giveBack := s.copies.share(r.id.Name)
	defer giveBack()
	// The client asks again, and the copy resumes.
	job, err := transfer.New(transfer.Options{Pool: pool, Retry: retry.Never, StagedID: c.stagedID})
	if err != nil {
		return pfs.Info{}, err
	}
	return job.CopyFile(ctx, transfer.End{FS: r.tree, Path: src}, transfer.End{FS: r.tree, Path: dst}, opts, progress)
}

// budgets are the users' shares of the memory for copies, so that hanging copies of one user do
// not stop those of others.
type budgets struct {
	all *transfer.Pool

	mu    sync.Mutex
	users map[string]*budget
}

// budget is a user's share, as long as it has uses.
type budget struct {
	pool *transfer.Pool
	uses int // guarded by budgets.mu
}

func newBudgets() *budgets {
	return &budgets{all: transfer.NewPool(copyMemory), users: map[string]*budget{}}
}

// share returns the user's share. The caller calls giveBack once, when no job uses it anymore.
func (b *budgets) share(user string) (pool *transfer.Pool, giveBack func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.users[user]
	if own == nil {
		own = &budget{pool: b.all.Share(copyShare, copyPatience)}
		b.users[user] = own
	}
	own.uses++
	return own.pool, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if own.uses--; own.uses == 0 {
			delete(b.users, user)
		}
	}
}

// copyName identifies a copy: the user, the client's ID, source and target. Copies of one name
// run one after the other.
type copyName string

func newCopy(r *request, id string, src, dst pfs.Path) copyName {
	if id == "" {
		id = pfs.NewID() // nobody can guess it
	}
	return copyName(fmt.Sprintf("%q %q %q %q", r.id.Name, id, src, dst))
}

// stagedID returns the ID of the upload for a version of the source. Only copies of this version
// can write to it, so its bytes match the stored digest of the source.
func (c copyName) stagedID(v pfs.Info) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %d %d", c, v.Version, v.Size, v.ModTime.UnixNano()))
	return copyPrefix + hex.EncodeToString(sum[:20])
}

// versionID is stagedID of the current version.
func (c copyName) versionID(ctx context.Context, tree pfs.FileSystem, src pfs.Path) (string, error) {
	f, err := tree.Open(ctx, src)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return c.stagedID(f.Info()), nil
}
