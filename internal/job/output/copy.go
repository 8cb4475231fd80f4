package output

import (
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// maxPending bounds the files that are copied in one job.
const maxPending = 4096

// maxSends bounds state.sends: a file that changes all the time is sent every 2^5 times Settle.
const maxSends = 5

// pending is files to upload, by directory.
type pending struct {
	dirs  map[pfs.Path][]pfs.Info
	files map[pfs.Path]pfs.Info
}

// add adds a file and reports whether p is full.
func (p *pending) add(dir, name pfs.Path, info pfs.Info) bool {
	if p.files == nil {
		p.dirs, p.files = map[pfs.Path][]pfs.Info{}, map[pfs.Path]pfs.Info{}
	}
	p.dirs[dir] = append(p.dirs[dir], info)
	p.files[name] = info
	return len(p.files) >= maxPending
}

// listings is a file system that only lists.
type listings struct {
	pfs.FileSystem
	entries map[pfs.Path][]pfs.Info
}

// List returns all entries of dir in one page.
func (l listings) List(_ context.Context, dir pfs.Path, _ pfs.ListOptions) (pfs.Page, error) {
	return pfs.Page{Entries: l.entries[dir]}, nil
}

// showing returns fsys with listings from entries. So a copy of a tree takes these files only, and
// the target is not listed.
func showing(fsys pfs.FileSystem, entries map[pfs.Path][]pfs.Info) pfs.FileSystem {
	return pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a == pfs.ListDir {
			return call(listings{fsys, entries}, name)
		}
		return call(fsys, name)
	})
}

// send uploads the files that were found.
func (s *scanner) send(ctx context.Context) {
	p := s.found
	s.found = pending{}
	if len(p.files) == 0 || ctx.Err() != nil {
		return
	}
	began := time.Now()
	defer func() { s.progress.Busy += time.Since(began) }()
	if root, err := os.OpenRoot(s.dir); err == nil {
		for name := range p.files {
			settle(root, string(name[1:]))
		}
		root.Close()
	}
	target := s.opts.Dir
	if s.at != "" {
		target = target.Join(s.at)
	}
	to := s.opts.FS
	if !s.resumed {
		to = showing(to, nil) // nothing is there that an uploader does not know
	}
	from := showing(s.local, p.dirs)
	var last error // a copy of several trees may end without its error
	j, err := transfer.New(transfer.Options{
		Origin: s.id, Parents: true, Pool: s.opts.Pool,
		Events: func(e transfer.Event) {
			switch e.Kind {
			case transfer.Done, transfer.Skipped:
				s.sent(e, p.files)
			case transfer.Failed:
				last = e.Err
				if _, ok := p.files[e.Path]; ok && len(s.reasons) < maxLeftOut {
					s.reasons[key(s.rel(e.Path))] = cause(e.Err)
				}
			}
		},
	})
	if err == nil {
		err = j.CopyAll(ctx, func(yield func(transfer.Pair, error) bool) {
			for dir := range maps.Keys(p.dirs) {
				if !yield(transfer.Pair{Source: transfer.End{FS: from, Path: dir}, Target: transfer.End{FS: to, Path: dir.Rebase(pfs.Root, target)}}, nil) {
					return
				}
			}
		})
	}
	var incomplete *transfer.Incomplete
	if errors.As(err, &incomplete) && incomplete.First != nil {
		err = incomplete.First
	}
	if err == nil {
		err = last
	}
	if s.failed == nil {
		s.failed = err
	}
}

// sent notes a file that the store has now.
func (s *scanner) sent(e transfer.Event, files map[pfs.Path]pfs.Info) {
	info, ok := files[e.Path]
	if !ok || e.Kind == transfer.Skipped && e.Reason != transfer.Equal {
		return
	}
	k := key(s.rel(e.Path))
	now := stateOf(info)
	now.seen, now.tree, now.current = s.pass, s.n, true
	now.sum = parseSum(e.Digest)
	s.mu.Lock()
	now.sends = min(s.states[k].sends+1, maxSends)
	s.states[k] = now
	s.mu.Unlock()
	s.pending -= info.Size
	s.progress.Files++
	s.progress.Bytes += info.Size
}
