package output

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/localfs"
)

// state is the known state of a file. There may be very many files.
type state struct {
	size, mtime, ctime int64
	inode              uint64
	sum                pfs.LeafDigest // XXH3 of the content at the store; 0: not known yet
	mode               uint16
	sends              uint8  // how often it was sent, up to a limit
	current            bool   // the store has this version
	tree               uint8  // the local directory, by number
	seen, matched      uint32 // the pass and the inventory that found it last
}

// stateOf returns the state of a version that is not uploaded.
func stateOf(info pfs.Info) state {
	return state{
		size: info.Size, mtime: info.ModTime.UnixNano(), ctime: info.ChangeTime.UnixNano(),
		inode: info.ID, mode: uint16(info.Mode.Perm()),
	}
}

// same reports whether s and t are the same version.
func (s state) same(t state) bool {
	return s.size == t.size && s.mtime == t.mtime && s.ctime == t.ctime && s.inode == t.inode && s.mode == t.mode
}

// key returns the key of a path below the directory of the run.
func key(rel string) pfs.LeafDigest { return digest.Leaf([]byte(rel)) }

// tree is a local directory and its place below the directory of the run.
type tree struct {
	n   uint8 // its number
	dir string
	at  string // "" or a name
}

// how is what a pass does with a file that has changed.
type how uint8

const (
	stable     how = iota // send it if it is stable
	everything            // send it
	nothing               // name it as left out
)

// scanner is the part of a pass over one tree.
type scanner struct {
	*uploader
	tree
	local  *localfs.FS
	how    how
	found  pending
	failed error // the first failure
}

// onePass uploads files that have changed. An error is the first one; everything else was tried.
func (u *uploader) onePass(ctx context.Context, h how) error {
	u.pass++
	if h != nothing {
		u.reasons = map[pfs.LeafDigest]string{}
	}
	u.left, u.leftCount, u.lostCount, u.pending = nil, 0, 0, 0
	trees := []tree{{dir: u.opts.Rank.Output()}}
	for i, dir := range u.opts.More {
		trees = append(trees, tree{uint8(i + 1), dir, filepath.Base(dir)})
	}
	var failed error
	began, busy := time.Now(), u.progress.Busy
	defer func() { u.scanned = time.Since(began) - (u.progress.Busy - busy) }()
	for _, t := range trees {
		if err := u.passOver(ctx, t, h); failed == nil {
			failed = err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for k, s := range u.states {
		if s.seen != u.pass {
			delete(u.states, k)
			u.gone = true
		}
	}
	return failed
}

// passOver is a pass over one tree.
func (u *uploader) passOver(ctx context.Context, t tree, h how) error {
	local, err := localfs.New(t.dir, localfs.Options{})
	if err != nil {
		// Without a listing nothing is known about the files.
		known := u.keep(t)
		missing := u.exit != nil && u.exit.Code == 0 && !known // a program that failed may not have made it yet
		u.leave(LeftOut{Path: t.dir, Reason: "there is no such directory", Lost: t.at == "" || !errors.Is(err, fs.ErrNotExist) || missing})
		return nil
	}
	defer local.Close()
	s := &scanner{uploader: u, tree: t, local: local, how: h}
	for dirs := []pfs.Path{pfs.Root}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		if err := s.scanDir(ctx, dir, &dirs); err != nil {
			return err
		}
	}
	s.send(ctx)
	return s.failed
}

// keep keeps the known states of the files of a tree. It reports whether there are any.
func (u *uploader) keep(t tree) (known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for k, s := range u.states {
		if s.tree == t.n {
			s.seen = u.pass
			u.states[k] = s
			known = true
		}
	}
	return known
}

// scanDir looks at the entries of one directory.
func (s *scanner) scanDir(ctx context.Context, dir pfs.Path, dirs *[]pfs.Path) error {
	for token := ""; ; {
		page, err := s.local.List(ctx, dir, pfs.ListOptions{Token: token, Attrs: true})
		switch {
		case errors.Is(err, pfs.NotExist), errors.Is(err, pfs.NotDir):
			return nil // removed meanwhile
		case errors.Is(err, pfs.Canceled):
			return err
		case err != nil:
			s.keep(s.tree)
			s.leave(LeftOut{Path: s.rel(dir), Reason: "cannot be listed: " + err.Error(), Lost: true})
			return nil
		}
		for _, quoted := range page.Unnamed {
			s.leave(LeftOut{Path: strings.TrimPrefix(s.rel(dir)+"/"+quoted, "/"), Reason: "the name cannot be used at the store: it is not UTF-8, or reserved", Lost: true})
		}
		for _, info := range page.Entries {
			name := dir.Join(info.Name)
			if reason := s.refused(dir, name, info); reason != "" {
				s.leave(LeftOut{Path: s.rel(name), Reason: reason, Lost: info.IsDir() || info.Size > 0 && info.IsRegular()})
			} else if info.IsDir() {
				*dirs = append(*dirs, name)
			} else if !s.changed(name, info) {
				continue
			} else if s.how == nothing {
				s.leave(LeftOut{Path: s.rel(name), Reason: s.reason(name), Lost: true})
			} else if s.found.add(dir, name, info) {
				s.send(ctx)
			}
		}
		if page.Next == "" {
			return pfs.CheckContext(ctx, "output.Upload", "")
		}
		token = page.Next
	}
}

// rel returns the path below the directory of the run.
func (s *scanner) rel(name pfs.Path) string {
	switch {
	case s.at == "":
		return string(name[1:])
	case name == pfs.Root:
		return s.at
	}
	return s.at + string(name)
}

// refused returns why an entry cannot be uploaded.
func (s *scanner) refused(dir, name pfs.Path, info pfs.Info) string {
	_, err := pfs.ParsePath(string(s.opts.Dir) + "/" + s.rel(name))
	switch {
	case err != nil:
		return "the path at the store would be too long"
	case info.IsLink():
		return "a symbolic link to " + info.Target
	case !info.IsDir() && !info.IsRegular():
		return "a socket, a pipe or a device"
	case s.at != "" || dir != pfs.Root:
		return ""
	case reserved(info.Name):
		return "the name is reserved"
	}
	for _, more := range s.opts.More {
		if filepath.Base(more) == info.Name {
			return "the name is that of the output directory " + more
		}
	}
	return ""
}

// changed notes a file, and reports whether it must be uploaded now.
func (s *scanner) changed(name pfs.Path, info pfs.Info) bool {
	k := key(s.rel(name))
	now := stateOf(info)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.states[k]
	if known && old.current && old.same(now) {
		old.seen = s.pass
		s.states[k] = old
		return false
	}
	s.pending += info.Size
	now.sends, now.seen, now.tree = old.sends, s.pass, s.n
	s.states[k] = now
	if s.how != stable {
		return true
	}
	// A file that changes again and again is sent less and less often.
	settle := s.opts.Settle << now.sends
	touched := info.ChangeTime
	if touched.IsZero() {
		touched = info.ModTime
	}
	age := time.Since(touched)
	return age >= settle || age < 0
}

// reason returns why a file was not uploaded.
func (s *scanner) reason(name pfs.Path) string {
	if reason := s.reasons[key(s.rel(name))]; reason != "" {
		return reason
	}
	return cause(s.failure)
}

// cause describes the failure of an upload without the path, which stands before it.
func cause(err error) string {
	e := (*pfs.Error)(nil)
	switch {
	case errors.Is(err, pfs.Canceled):
		return "the time for uploading was over"
	case !errors.As(err, &e):
		return err.Error()
	case e.Cause() == "":
		return e.Kind.Error()
	}
	return e.Kind.Error() + ": " + e.Cause()
}

// leave notes an entry that is left out.
func (u *uploader) leave(l LeftOut) {
	u.leftCount++
	if l.Lost {
		u.lostCount++
	}
	if len(u.left) < maxLeftOut {
		u.left = append(u.left, l)
	}
}
