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

// unfinishedKept is how long a version without a manifest is assumed to have none still, so that a
// set of many shards is not listed for each of them. A manifest that comes through this namespace
// is known at once.
const unfinishedKept = time.Second

// published protects complete versions of published datasets.
type published struct {
	n     *Namespace
	id    auth.Identity
	below pfs.FileSystem
}

// newPublished returns the tree below with complete versions of published datasets protected from
// changes, and the file latest shown as a link to the version whose number it holds.
//
// It belongs below the permission check, and below the layer that follows links.
func newPublished(n *Namespace, id auth.Identity, below pfs.FileSystem) *pfs.Layer {
	p := published{n, id, below}
	return pfs.NewLayerWith(p.through, pfs.Hooks{Handle: p.handle, Info: p.info, Paths: p.paths, Wrote: p.wrote})
}

func (p published) through(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
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

// orLink returns err or, if it is nil, the error for a link in the path.
func orLink(err error, link pfs.Path) error {
	if err != nil {
		return err
	}
	return pfs.E(opView, link, pfs.Symlink, nil)
}

// allow refuses changes of complete versions. Administrators may remove one.
func (p published) allow(ctx context.Context, a pfs.Access, name pfs.Path, at publishedPlace) error {
	removes := a == pfs.Delete && p.id.Role != auth.Admin
	switch {
	case at.isVersion() && removes && name == at.entry.Join(claim):
		return nil
	case at.isVersion() && (removes || a == pfs.Write || a == pfs.Make):
		return p.unfinished(ctx, name, at.entry)
	case removes && name == at.dataset:
		return p.allUnfinished(ctx, name)
	case removes && name == at.all:
		return pfs.Errorf(opView, name, pfs.Permission, "only administrators remove or rename all published datasets together")
	}
	return nil
}

// allUnfinished answers ReadOnly if a dataset has a complete version.
func (p published) allUnfinished(ctx context.Context, dataset pfs.Path) error {
	for e, err := range pfs.Entries(ctx, p.below, dataset, nil) {
		switch {
		case errors.Is(err, pfs.NotDir), errors.Is(err, pfs.NotExist):
			return nil // the operation itself reports it
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

// unfinished returns ReadOnly, about name, if the directory of a version has a manifest. A missing
// directory, a link or a file has none.
func (p published) unfinished(ctx context.Context, name, version pfs.Path) error {
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
				"version %s of %s is published and never changes: dataset publish makes the next one", version.Base(), version.Parent())
		}
	}
	p.n.look(string(version), unfinishedKept)
	return nil
}

// wrote records that name was written, which may have completed a version.
func (p published) wrote(name pfs.Path) {
	if at, ok := publishedAt(name); ok && at.isVersion() && isManifest(name.Base()) {
		p.n.look(string(at.entry), 0)
	}
}

// linkOf returns the Info of latest; links reports whether it is a link to a version.
func (p published) linkOf(ctx context.Context, name pfs.Path) (info pfs.Info, links bool, err error) {
	info, err = p.below.Stat(ctx, name)
	if errors.Is(err, pfs.NotExist) {
		return info, false, nil
	}
	if err != nil {
		return info, false, err
	}
	return p.asLink(ctx, name, info)
}

// asLink changes the Info of latest to that of a link, if the file holds a number.
func (p published) asLink(ctx context.Context, name pfs.Path, info pfs.Info) (_ pfs.Info, links bool, err error) {
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

// info shows latest as a link.
func (p published) info(ctx context.Context, name pfs.Path, info pfs.Info) (pfs.Info, error) {
	at, ok := publishedAt(name)
	if !ok || !at.isLatest() || at.inEntry {
		return info, nil
	}
	info, _, err := p.asLink(ctx, name, info)
	return info, err
}

// handle refuses handles that could change files of a version, even of an unfinished one: when the
// manifest comes, the writer would keep the open file.
func (p published) handle(name pfs.Path, flags pfs.OpenFlags) error {
	if at, ok := publishedAt(name); ok && at.isVersion() && flags&pfs.OpenWrite != 0 {
		return pfs.Errorf(opView, name, pfs.Unsupported, "files of published versions cannot be changed in place: upload the whole file")
	}
	return nil
}

// paths lets the caller copy into a version, since its Commit is checked. Other operations must not
// bring a file into a version, or give it a second name, because it could still be changed through
// a handle or another name.
func (p published) paths(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
	target := op.Target()
	to, ok := publishedAt(target)
	into := ok && to.isVersion()
	from, ok := publishedAt(op.Uses[0].Path)
	within := into && ok && from.entry == to.entry
	switch {
	case into && op.Name == "CopyFile":
		return pfs.E(opView, target, pfs.Unsupported, nil)
	case op.Name == "HardLink" && (into || ok && from.isVersion()):
		return pfs.Errorf(opView, target, pfs.Unsupported, "files of published versions have only one name")
	case into && !within && op.Name != "Concat":
		err := p.unfinished(ctx, target, to.entry)
		if err == nil {
			err = pfs.Errorf(opView, target, pfs.CrossStore, "a file that is renamed into a version could be changed later: use cp or mv, which copy")
		}
		return err
	}
	return op.Each(ctx, call)
}
