package transfer

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/paddlecloud/pfs/pfs"
)

// Verify compares the files or trees a and b by digest (Options.Algorithm). Digests are computed
// from the stored bytes, by the store if it can; with Options.Kept, only for files without a stored
// digest.
//
// Every difference is an event: Missing, Extra, Different, and Failed for entries that could not be
// read. A missing or extra directory is one event. Verify returns nil if all is equal, Integrity if
// something is missing, extra or different, and otherwise an *Incomplete. If a store stays
// unreachable, it ends early with Unavailable. Filter and Links apply to both sides.
func (j *Job) Verify(caller context.Context, a, b End) error {
	j.spend(caller)
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	v := &verifier{trees: j.newTrees(ctx, cancel)}
	v.files.SetLimit(2 * j.opts.Parallel)
	nameA, nameB := a.Path, b.Path
	a, infoA, err := j.resolveSource(ctx, a)
	if err != nil {
		return err
	}
	b, infoB, err := j.resolveSource(ctx, b)
	if err != nil {
		return err
	}
	ahead, last, stop := j.countAhead(ctx)
	defer stop()
	ahead(a)
	last()
	v.compare(ctx, &twins{a: a, b: b, nameA: nameA, nameB: nameB, choice: j.filter.root, infoA: infoA, infoB: infoB})
	v.dirs.Wait()
	_ = v.files.Wait()
	if err := pfs.CheckContext(caller, "transfer.Verify", a.Path); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	j.count.complete.Store(true)
	s := j.Stats()
	switch {
	case s.Missing+s.Extra+s.Different > 0:
		return pfs.Errorf("transfer.Verify", b.Path, pfs.Integrity, "not the same as %s: %d missing, %d extra, %d different, %d not readable",
			a.Path, s.Missing, s.Extra, s.Different, s.Failed)
	case s.Failed+s.Omitted > 0:
		return &Incomplete{Stats: s, First: v.first}
	}
	return nil
}

// verifier is a running Verify.
type verifier struct {
	*trees
	dirs  sync.WaitGroup // of walkers
	files errgroup.Group // being compared
}

// twins are two entries of one name.
type twins struct {
	above        *twins
	a, b         End      // free of links
	nameA, nameB pfs.Path // as the user knows them
	infoA, infoB pfs.Info
	rel          string
	choice       choice
}

// compare compares two entries, files in a goroutine of their own.
func (v *verifier) compare(ctx context.Context, t *twins) {
	isDir := t.infoA.IsDir()
	if t.infoA.IsRegular() {
		v.j.count.files.Add(1)
		v.j.count.bytes.Add(t.infoA.Size)
	}
	switch {
	case t.infoA.Mode.Type() != t.infoB.Mode.Type():
		v.different(t, "one is %s, the other %s", kindOf(t.infoA), kindOf(t.infoB))
	case isDir && v.walkers.TryAcquire(1):
		v.dirs.Go(func() {
			defer v.walkers.Release(1)
			v.guard(t.nameA, t.nameB, func() { v.compareDirs(ctx, t) })
		})
	case isDir:
		v.compareDirs(ctx, t)
	case t.infoA.IsLink():
		v.compareLinks(t)
	case isSpecial(t.infoA):
		v.omitted(t.nameA, t.nameB, Special)
	case t.infoA.Size != t.infoB.Size:
		v.different(t, "%d bytes and %d bytes", t.infoA.Size, t.infoB.Size)
	default:
		v.files.Go(func() error {
			v.guard(t.nameA, t.nameB, func() { v.compareFiles(ctx, t) })
			return nil
		})
	}
}

// isSpecial reports whether info describes a device, socket or pipe.
func isSpecial(info pfs.Info) bool { return !info.IsDir() && !info.IsLink() && !info.IsRegular() }

// kindOf returns the type of an entry in words.
func kindOf(info pfs.Info) string {
	switch {
	case info.IsDir():
		return "a directory"
	case info.IsLink():
		return "a link"
	case info.IsRegular():
		return "a file"
	}
	return "a special file"
}

func (v *verifier) different(t *twins, format string, args ...any) {
	v.j.count.different.Add(1)
	v.compared(t)
	v.j.emit(Event{
		Kind: Different, Path: t.nameA, Target: t.nameB, Size: t.infoA.Size, IsDir: t.infoA.IsDir(),
		Err: pfs.Errorf("transfer.Verify", t.nameB, pfs.Integrity, format, args...),
	})
}

// compared counts a file.
func (v *verifier) compared(t *twins) {
	if t.infoA.IsRegular() {
		v.j.count.filesDone.Add(1)
	}
}

func (v *verifier) equal(t *twins, sum string) {
	v.j.count.same.Add(1)
	v.compared(t)
	v.j.emit(Event{Kind: Same, Path: t.nameA, Target: t.nameB, Size: t.infoA.Size, Bytes: t.infoA.Size, Digest: sum})
}

func (v *verifier) compareLinks(t *twins) {
	if t.infoA.Target != t.infoB.Target {
		v.different(t, "one leads to %q, the other to %q", t.infoA.Target, t.infoB.Target)
		return
	}
	v.equal(t, "")
}

// compareFiles compares the digests of two files, computed at the same time.
func (v *verifier) compareFiles(ctx context.Context, t *twins) {
	var a, b string
	var counted int64
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		a, err = v.digest(gctx, t.a, t.infoA, func(done int64) {
			v.j.count.bytesDone.Add(done - counted)
			counted = done
		})
		return err
	})
	g.Go(func() (err error) {
		b, err = v.digest(gctx, t.b, t.infoB, nil)
		return err
	})
	if err := g.Wait(); err != nil {
		v.fail(Event{Path: t.nameA, Target: t.nameB, Err: err})
		return
	}
	v.j.count.bytesDone.Add(t.infoA.Size - counted)
	v.j.reached()
	if a != b {
		v.different(t, "%s and %s", a, b)
		return
	}
	v.equal(t, a)
}

// digest returns the digest of one file. progress may be nil.
func (v *verifier) digest(ctx context.Context, e End, info pfs.Info, progress func(done int64)) (string, error) {
	if v.j.opts.Kept {
		return v.j.digestOf(ctx, e, info)
	}
	return v.j.compute(ctx, e, v.j.opts.Algorithm, progress)
}

// compareDirs compares two directories and all below them.
func (v *verifier) compareDirs(ctx context.Context, t *twins) {
	m := &dirMatcher{
		a: &listing{j: v.j, end: t.a, name: t.nameA, digests: v.j.opts.Kept}, b: &t.b, names: v.names, room: v.besides,
		unnamed: func(quoted string) {
			v.fail(Event{Path: t.nameA, Target: t.nameB, Err: newNameError("transfer.Verify", t.nameA, quoted)})
		},
	}
	defer m.end()
	for {
		entries, err := m.next(ctx)
		if err != nil {
			v.fail(Event{Path: t.nameA, Target: t.nameB, Err: err})
			return
		}
		if entries == nil {
			break
		}
		var dirs []*twins
		for _, e := range entries {
			if sub := v.entry(ctx, t, e); sub != nil {
				dirs = append(dirs, sub)
			}
		}
		m.drop()
		for _, sub := range dirs {
			v.compare(ctx, sub)
		}
	}
	err := v.j.extras(ctx, t.a, t.b, func(info pfs.Info) error {
		v.extra(t, info)
		return pfs.CheckContext(ctx, "transfer.Verify", t.b.Path)
	}, func(quoted string) {
		v.fail(Event{Path: t.nameA, Target: t.nameB, Err: newNameError("transfer.Verify", t.nameB, quoted)})
	})
	if err != nil {
		v.fail(Event{Path: t.nameA, Target: t.nameB, Err: err})
	}
}

// entry compares an entry of a directory, or returns the directories that it is.
func (v *verifier) entry(ctx context.Context, t *twins, e entry) *twins {
	sub := &twins{
		above: t, rel: join(t.rel, e.info.Name), infoA: e.info, infoB: e.old,
		a: End{t.a.FS, t.a.Path.Join(e.info.Name)}, b: End{t.b.FS, t.b.Path.Join(e.info.Name)},
		nameA: t.nameA.Join(e.info.Name), nameB: t.nameB.Join(e.info.Name),
	}
	if v.j.filter.choose(t.choice, sub.rel, e.info.IsDir()) == excluded {
		return nil
	}
	if err := v.follow(ctx, sub, e.exists); err != nil {
		v.fail(Event{Path: sub.nameA, Target: sub.nameB, Err: err})
		return nil
	}
	sub.choice = v.j.filter.choose(t.choice, sub.rel, sub.infoA.IsDir())
	switch {
	case sub.choice == excluded, sub.choice == open && !sub.infoA.IsDir():
	case sub.infoA.IsLink() && v.j.opts.Links == SkipLinks:
		v.omitted(sub.nameA, sub.nameB, Link)
	case isSpecial(sub.infoA) && (!e.exists || isSpecial(sub.infoB)):
		v.omitted(sub.nameA, sub.nameB, Special) // no copy makes one
	case !e.exists && sub.choice == taken:
		v.j.count.missing.Add(1)
		v.j.emit(Event{Kind: Missing, Path: sub.nameA, Target: sub.nameB, Size: sub.infoA.Size, IsDir: sub.infoA.IsDir()})
	case !e.exists:
	case sub.infoA.IsDir():
		return sub
	default:
		v.compare(ctx, sub)
	}
	return nil
}

// follow replaces links by their targets, if links are followed.
func (v *verifier) follow(ctx context.Context, t *twins, both bool) (err error) {
	if v.j.opts.Links != Follow {
		return nil
	}
	if t.infoA.IsLink() {
		if t.a, t.infoA, err = v.j.follow(ctx, t.a); err != nil {
			return err
		}
		for above := t.above; above != nil && t.infoA.IsDir(); above = above.above {
			if above.a.Path.Within(t.a.Path) {
				return pfs.Errorf("transfer.Verify", t.nameA, pfs.Symlink, "it leads to %s, which contains it: a loop", t.a.Path)
			}
		}
	}
	if both && t.infoB.IsLink() {
		t.b, t.infoB, err = v.j.follow(ctx, t.b)
	}
	return err
}

// extra reports an entry that only the second tree has.
func (v *verifier) extra(t *twins, info pfs.Info) {
	isLink := info.IsLink() && v.j.opts.Links == SkipLinks
	if v.j.filter.choose(t.choice, join(t.rel, info.Name), info.IsDir()) != taken || isLink {
		return
	}
	v.j.count.extra.Add(1)
	v.j.emit(Event{Kind: Extra, Target: t.nameB.Join(info.Name), Size: info.Size, IsDir: info.IsDir()})
}
