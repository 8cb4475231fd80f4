package namespace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// unfinishedKept is how long a version that had no manifest is taken to have none still,
// so that a set of many shards is not listed for each of them. Manifests that come
// through this namespace are known at once.
const unfinishedKept = time.Second

// published is the tree below, in which complete versions of published datasets never
// change, and the file latest is a link to the version whose number it holds.
//
// It belongs below the permission check, and below what follows links.
type published struct {
	*pfs.Layer
	n     *Namespace
	id    auth.Identity
	below pfs.FileSystem
}

var (
	_ pfs.Editor      = (*published)(nil)
	_ pfs.Copier      = (*published)(nil)
	_ pfs.BatchWriter = (*published)(nil)
)

func newPublished(n *Namespace, id auth.Identity, below pfs.FileSystem) *published {
	p := &published{n: n, id: id, below: below}
	p.Layer = pfs.NewLayer(p.through)
	return p
}

func (p *published) through(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
	at, ok := publishedAt(name)
	if !ok {
		return call(p.below, name)
	}
	if at.isLatest() && (at.inEntry || a == pfs.Read || a == pfs.ListDir) {
		if _, links, err := p.linkOf(ctx, at.entry); err != nil || links {
			return orLink(err, at.entry)
		}
	}
	if err := p.allow(ctx, a, name, at); err != nil {
		return err
	}
	return call(p.below, name)
}

// orLink returns err, or else that a link is on the way.
func orLink(err error, link pfs.Path) error {
	if err != nil {
		return err
	}
	return pfs.E(opView, link, pfs.Symlink, nil)
}

// allow refuses what would change a complete version. An administrator may remove one.
func (p *published) allow(ctx context.Context, a pfs.Access, name pfs.Path, at publishedPlace) error {
	removes := a == pfs.Delete && p.id.Role != auth.Admin
	switch {
	case at.isVersion() && removes && name == at.entry.Join(claim):
		return nil
	case at.isVersion() && (removes || a == pfs.Write || a == pfs.Make):
		return p.unfinished(ctx, name, at.entry)
	case removes && name == at.dataset:
		return p.allUnfinished(ctx, name)
	case removes && name == at.all:
		return pfs.Errorf(opView, name, pfs.Permission, "all published datasets together are removed, or renamed, by administrators only")
	}
	return nil
}

// allUnfinished answers ReadOnly if a complete version is in the directory of a dataset.
func (p *published) allUnfinished(ctx context.Context, dataset pfs.Path) error {
	for e, err := range pfs.Entries(ctx, p.below, dataset, nil) {
		switch {
		case errors.Is(err, pfs.NotDir), errors.Is(err, pfs.NotExist):
			return nil // the operation itself says so
		case err != nil:
			return err
		case !e.IsDir() || !isNumber(e.Name):
			continue
		}
		if err := p.unfinished(ctx, dataset, dataset.Join(e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// unfinished answers ReadOnly, about name, if the directory of a version has its
// manifest. One that is not there, or is no directory but a link or a file, has none.
func (p *published) unfinished(ctx context.Context, name, version pfs.Path) error {
	if !p.n.due(string(version)) {
		return nil
	}
	for e, err := range pfs.Entries(ctx, p.below, version, nil) {
		switch {
		case errors.Is(err, pfs.NotDir), errors.Is(err, pfs.NotExist), errors.Is(err, pfs.Symlink):
			return nil
		case err != nil:
			return err
		case isManifest(e.Name):
			return pfs.Errorf(opView, name, pfs.ReadOnly,
				"version %s of %s is published, and never changed: dataset publish makes the next one", version.Base(), version.Parent())
		}
	}
	p.n.look(string(version), unfinishedKept)
	return nil
}

// wrote notes that name was written, which may have completed a version.
func (p *published) wrote(name pfs.Path) {
	if at, ok := publishedAt(name); ok && at.isVersion() && isManifest(name.Base()) {
		p.n.look(string(at.entry), 0)
	}
}

// linkOf describes latest; links reports whether it stands for a version.
func (p *published) linkOf(ctx context.Context, name pfs.Path) (info pfs.Info, links bool, err error) {
	info, err = p.below.Stat(ctx, name)
	if errors.Is(err, pfs.NotExist) {
		return info, false, nil
	}
	if err != nil {
		return info, false, err
	}
	return p.asLink(ctx, name, info)
}

// asLink makes the description of latest that of a link, if it holds a number.
func (p *published) asLink(ctx context.Context, name pfs.Path, info pfs.Info) (_ pfs.Info, links bool, err error) {
	const most = 32
	if !info.IsRegular() || info.Size == 0 || info.Size > most {
		return info, false, nil
	}
	f, err := p.below.Open(ctx, name)
	if err != nil {
		return info, false, err
	}
	defer f.Close()
	text := make([]byte, most)
	n, err := f.ReadAt(ctx, text, 0)
	if err != nil && err != io.EOF {
		return info, false, err
	}
	number := strings.TrimSuffix(string(text[:n]), "\n")
	if !isNumber(number) {
		return info, false, nil
	}
	info.Mode, info.Target, info.Size, info.Digest = fs.ModeSymlink|0o777, number, int64(len(number)), ""
	return info, true, nil
}

// Stat describes latest as a link.
func (p *published) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	info, err := p.Layer.Stat(ctx, name)
	if at, ok := publishedAt(name); err != nil || !ok || !at.isLatest() || at.inEntry {
		return info, err
	}
	info, _, err = p.asLink(ctx, name, info)
	return info, err
}

// List shows latest as a link.
func (p *published) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	page, err := p.Layer.List(ctx, dir, opts)
	if at, ok := publishedAt(dir); err != nil || !ok || at.dataset != dir {
		return page, err
	}
	for i, e := range page.Entries {
		if e.Name != latest {
			continue
		}
		if page.Entries[i], _, err = p.asLink(ctx, dir.Join(latest), e); err != nil && !errors.Is(err, pfs.NotExist) {
			return pfs.Page{}, err
		}
	}
	return page, nil
}

// Create sees to it that nothing is committed into a version that was completed in the
// meantime.
func (p *published) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := p.Layer.Create(ctx, name, opts)
	if at, ok := publishedAt(name); err == nil && ok && at.isVersion() {
		return &versionStaged{w, p, name, at.entry}, nil
	}
	return w, err
}

// Edit refuses to change files of a version in place, also of an unfinished one: what
// is open could not be taken back from its writer when the manifest comes.
func (p *published) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	if at, ok := publishedAt(name); ok && at.isVersion() {
		return nil, pfs.Errorf(opView, name, pfs.Unsupported, "files of published versions are written whole")
	}
	return p.Layer.Edit(ctx, name)
}

// CopyFile leaves copies into a version to the caller, whose staged write is looked at
// when it is committed.
func (p *published) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	if at, ok := publishedAt(dst); ok && at.isVersion() {
		return pfs.Info{}, pfs.E(opView, dst, pfs.Unsupported, nil)
	}
	return p.Layer.CopyFile(ctx, src, dst, opts, progress)
}

func (p *published) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	errs := p.Layer.WriteBatch(ctx, entries)
	for _, e := range entries {
		p.wrote(e.Path)
	}
	return errs
}

func (p *published) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	defer p.wrote(newName)
	return p.Layer.Rename(ctx, oldName, newName)
}

func (p *published) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	defer p.wrote(newName)
	return p.Layer.RenameExclusive(ctx, oldName, newName)
}

// versionStaged is a staged write in the directory of a version.
type versionStaged struct {
	pfs.Staged
	p             *published
	name, version pfs.Path
}

var (
	_ pfs.LeafDigester = (*versionStaged)(nil)
	_ pfs.Identifier   = (*versionStaged)(nil)
)

func (w *versionStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.p.unfinished(ctx, w.name, w.version); err != nil {
		return pfs.Info{}, err
	}
	defer w.p.wrote(w.name)
	return w.Staged.Commit(ctx, opts)
}

func (w *versionStaged) Identity() any { return pfs.IdentityOf(w.Staged) }

func (w *versionStaged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	c, ok := w.Staged.(pfs.LeafDigester)
	if !ok {
		return nil, pfs.E(opView, w.name, pfs.Unsupported, nil)
	}
	return c.LeafDigests(ctx, size, first, n)
}
