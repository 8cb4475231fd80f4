package pfs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// core is a store without any optional capability.
type core struct{ pfs.FileSystem }

// spy counts and can change the calls of the core operations of a store.
type spy struct {
	pfs.FileSystem
	mu    sync.Mutex
	calls []string
	fail  func(call string) error
}

func newSpy() *spy { return &spy{FileSystem: memfs.New(memfs.Options{})} }

func (s *spy) note(op string, name pfs.Path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := op + " " + string(name)
	s.calls = append(s.calls, call)
	if s.fail != nil {
		return s.fail(call)
	}
	return nil
}

// noted returns the calls since the last noted.
func (s *spy) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *spy) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if err := s.note("Open", name); err != nil {
		return nil, err
	}
	return s.FileSystem.Open(ctx, name)
}

func (s *spy) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if err := s.note("Create", name); err != nil {
		return nil, err
	}
	return s.FileSystem.Create(ctx, name, opts)
}

func (s *spy) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if err := s.note("Stat", name); err != nil {
		return pfs.Info{}, err
	}
	return s.FileSystem.Stat(ctx, name)
}

func (s *spy) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if err := s.note("List", dir); err != nil {
		return pfs.Page{}, err
	}
	return s.FileSystem.List(ctx, dir, opts)
}

// tree makes directories (names that end in a slash), links ("name -> target") and
// files, which hold their own names.
func tree(t *testing.T, fsys pfs.FileSystem, names ...string) {
	t.Helper()
	for _, s := range names {
		name, target, isLink := strings.Cut(s, " -> ")
		p := pfs.Path(strings.TrimSuffix(name, "/"))
		pfstest.MustMkdir(t, fsys, p.Parent())
		switch {
		case isLink:
			pfstest.MustLink(t, fsys, target, p)
		case string(p) != name:
			pfstest.MustMkdir(t, fsys, p)
		default:
			pfstest.WriteFile(t, fsys, p, []byte(name))
		}
	}
}

// newTree returns a store with that tree.
func newTree(t *testing.T, names ...string) *memfs.FS {
	t.Helper()
	fsys := memfs.New(memfs.Options{})
	tree(t, fsys, names...)
	return fsys
}

// wantPath fails unless err is of the kind and about name.
func wantPath(t *testing.T, err error, kind pfs.Kind, name pfs.Path) {
	t.Helper()
	pfstest.WantKind(t, err, kind)
	var e *pfs.Error
	if errors.As(err, &e); e.Path != name {
		t.Errorf("error %q is about %q, want %q", e.Detail(), e.Path, name)
	}
}

// wantPaths fails unless got, sorted, is want.
func wantPaths[S ~[]E, E ~string](t *testing.T, what string, got S, want ...E) {
	t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
