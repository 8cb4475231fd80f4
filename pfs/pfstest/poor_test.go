package pfstest_test

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// poor is a store that keeps only content and time of a file, cannot publish exclusively, and
// forgets IDs: it gives each upload a new one. It declares these gaps, so the suite must pass.
type poor struct {
	pfs.FileSystem

	mu  sync.Mutex
	ids map[string]string // ID below of each upload in progress, by path and ID
}

func newPoor() *poor {
	return &poor{FileSystem: memfs.New(memfs.Options{}), ids: map[string]string{}}
}

func (p *poor) Mkdir(ctx context.Context, name pfs.Path, _ fs.FileMode) error {
	return p.FileSystem.Mkdir(ctx, name, 0o777)
}

func (p *poor) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, key := opts.ID, string(name)+"\x00"+opts.ID
	if pfs.ValidID(id) {
		if _, ok := p.ids[key]; !ok && !opts.Reopen {
			p.ids[key] = pfs.NewID()
		}
		if opts.ID = p.ids[key]; opts.ID == "" {
			opts.ID = pfs.NewID()
		}
	}
	w, err := p.FileSystem.Create(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = w.ID()
	}
	return &poorStaged{Staged: w, fs: p, name: name, id: id, key: key}, nil
}

// poorStaged is not a LeafDigester, and knows one kind of Commit.
type poorStaged struct {
	pfs.Staged
	fs      *poor
	name    pfs.Path
	id, key string
}

func (w *poorStaged) ID() string { return w.id }

func (w *poorStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if opts.NoReplace {
		return pfs.Info{}, pfs.E("poor.Commit", w.name, pfs.Unsupported, nil)
	}
	info, err := w.Staged.Commit(ctx, pfs.CommitOptions{Size: opts.Size, Mode: 0o666, ModTime: opts.ModTime})
	if err == nil {
		w.fs.mu.Lock()
		delete(w.fs.ids, w.key)
		w.fs.mu.Unlock()
	}
	return info, err
}

func TestConformanceOfAPoorStore(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New: func(*testing.T) pfs.FileSystem { return newPoor() },
		Gaps: pfstest.NoSymlink | pfstest.NoChmod | pfstest.NoChtime | pfstest.WholeFiles | pfstest.NoExclusiveRename |
			pfstest.NoExclusiveCommit | pfstest.NoQuota | pfstest.NoSpaceReport | pfstest.NoDigester | pfstest.NoSweep |
			pfstest.NoBlockLocations | pfstest.NoCopy | pfstest.NoLeafDigests | pfstest.NoMode | pfstest.NoKeptDigest | pfstest.NoCommitMemory,
		Names: 10_000,
	})
}

// TestConformanceOfAPickyStore uses a store that refuses names, and does not promise that its quota
// is exact.
func TestConformanceOfAPickyStore(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New: func(*testing.T) pfs.FileSystem {
			m := memfs.New(memfs.Options{})
			return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
				if strings.Contains(string(name), ":") {
					return pfs.Errorf("picky", name, pfs.Invalid, "no colon")
				}
				return call(m, name)
			})
		},
		Gaps:  pfstest.NoColon | pfstest.LooseQuota,
		Names: 300,
	})
}

func TestPattern(t *testing.T) {
	whole := pfstest.Pattern(7, 1000)
	if string(pfstest.Pattern(7, 500)) != string(whole[:500]) {
		t.Error("a shorter pattern is not the start of a longer one")
	}
	if string(pfstest.Pattern(8, 1000)) == string(whole) {
		t.Error("another seed gives the same pattern")
	}
	if string(whole[:496]) == string(whole[504:]) || string(whole[:500]) == string(whole[500:]) {
		t.Error("the pattern does not depend on the offset")
	}
}
