package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Create begins or resumes an upload of name.
func (s *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "memfs.Create"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, old, err := s.place(op, name)
	if err != nil {
		return nil, err
	}
	key := stageKey{name.Base(), opts.ID, s.acting}
	st := dir.dir.staged[key]
	if st == nil {
		if opts.Reopen && !old.wasMadeBy(opts.ID) {
			return nil, pfs.Errorf(op, name, pfs.Conflict, "there is no upload %s: begin a new one", opts.ID)
		}
		if key.id == "" {
			key.id = pfs.NewID()
		}
		st = &stage{key: key, dir: dir}
	}
	if err := s.checkGrowth(op, name, st, opts.Size); err != nil {
		return nil, err
	}
	st.touched = now()
	s.keep(st)
	return &staged{fs: s, st: st, name: name, resumed: st.size > 0}, nil
}

// place returns the directory in which a file name may be published, and the existing entry, or
// nil.
func (s *FS) place(op string, name pfs.Path) (dir, old *node, err error) {
	if name == pfs.Root {
		return nil, nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	if dir, err = s.changeable(op, name); err != nil {
		return nil, nil, err
	}
	old = s.child(dir, name.Base())
	if old != nil && old.mode.IsDir() {
		return nil, nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	return dir, old, nil
}

// wasMadeBy reports whether Commit of id made n, which may be nil.
func (n *node) wasMadeBy(id string) bool { return n != nil && id != "" && n.madeBy == id }

// checkGrowth answers NoSpace or Quota if st cannot have size bytes. It checks each upload alone
// against the quota; Commit counts them all.
func (s *FS) checkGrowth(op string, name pfs.Path, st *stage, size int64) error {
	if size <= st.size {
		return nil
	}
	if err := s.checkSpace(op, name, size-st.size); err != nil {
		return err
	}
	delta := tally{bytes: size}
	if old := st.dir.child(st.key.name); old != nil {
		delta.bytes -= old.size()
	}
	return st.dir.checkQuota(op, name, delta)
}
