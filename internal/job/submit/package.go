package submit

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// The limits of a package.
const (
	maxFiles = 1_000_000 // files and directories
	maxBytes = 8 << 30
)

// content is what a local directory contributes to a package.
type content struct {
	rules   []transfer.Rule
	entries map[string]entry // by path below the root
	files   int
	bytes   int64
	left    int    // entries that the rules leave out
	chosen  bool   // settingsFile chooses the files
	largest string // file
}

// entry is a file or directory of a package; a link counts as its target.
type entry struct {
	dir  bool
	size int64
	time time.Time
}

// scan lists the package in the directory root.
func scan(ctx context.Context, root transfer.End) (*content, error) {
	const op = "submit.scan"
	real, err := transfer.ResolveLink(ctx, root.FS, root.Path)
	if err != nil {
		return nil, err
	}
	info, err := root.FS.Stat(ctx, real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, pfs.Errorf(op, root.Path, pfs.Invalid, "a package is a directory")
	}
	settings, err := readSettings(ctx, transfer.End{FS: root.FS, Path: real})
	if err != nil {
		return nil, err
	}
	// Rules that include come first, so that nothing else is taken.
	s := &scanner{root: root, real: real, content: content{rules: append(settings.rules, firstRules...), entries: map[string]entry{}, chosen: len(settings.rules) > 0}}
	if err := s.directory(ctx, real, ""); err != nil {
		return nil, err
	}
	switch {
	case s.files == 0 && s.chosen:
		return nil, pfs.Errorf(op, root.Path, pfs.Invalid, "the package has no files: pai.job.upload.include in %s names none of them", settingsFile)
	case s.files == 0 && s.left > 0:
		return nil, pfs.Errorf(op, root.Path, pfs.Invalid, "the package has no files: .gitignore and .paddleignore leave out all %d entries", s.left)
	case s.files == 0:
		return nil, pfs.Errorf(op, root.Path, pfs.Invalid, "the package has no files")
	}
	return &s.content, nil
}

// scanner is one run of scan.
type scanner struct {
	content
	root  transfer.End
	real  pfs.Path   // the root without links
	above []pfs.Path // the directories that are being scanned
}

// directory scans the directory at, without links, which is rel below the root.
func (s *scanner) directory(ctx context.Context, at pfs.Path, rel string) error {
	const op = "submit.scan"
	if slices.Contains(s.above, at) {
		return pfs.Errorf(op, s.name(rel), pfs.Symlink, "the link leads to a directory that it is in")
	}
	s.above = append(s.above, at)
	defer func() { s.above = s.above[:len(s.above)-1] }()
	rules, err := readIgnore(ctx, transfer.End{FS: s.root.FS, Path: at}, rel)
	if err != nil {
		return err
	}
	s.rules = append(s.rules, rules...)
	filter, err := transfer.NewFilter(s.rules)
	if err != nil {
		return err
	}
	var unnamed string
	for info, err := range pfs.Entries(ctx, s.root.FS, at, func(quoted string) { unnamed = quoted }) {
		if err != nil {
			return err
		}
		if err := s.entry(ctx, filter, info, at.Join(info.Name), strings.TrimPrefix(rel+"/"+info.Name, "/")); err != nil {
			return err
		}
	}
	if unnamed != "" {
		return pfs.Errorf(op, s.name(rel), pfs.Invalid, "the name %s cannot be a path on the service: rename it, or list it in .paddleignore", unnamed)
	}
	return nil
}

func (s *scanner) entry(ctx context.Context, filter transfer.Filter, info pfs.Info, at pfs.Path, rel string) error {
	const op = "submit.scan"
	// A link to a directory matches rules for directories only after it was followed.
	if takes, enters := filter.Takes(rel, info.IsDir() || info.IsLink()); !takes && !enters {
		s.left++
		return nil
	}
	if info.IsLink() {
		target := info.Target
		var err error
		if at, err = transfer.ResolveLink(ctx, s.root.FS, at); err == nil {
			info, err = s.root.FS.Stat(ctx, at)
		}
		switch {
		case errors.Is(err, pfs.NotExist):
			return pfs.Errorf(op, s.name(rel), pfs.NotExist, "the link leads to %q, which does not exist: repair it, or list it in .paddleignore", target)
		case err != nil:
			return err
		case !at.Within(s.real):
			return pfs.Errorf(op, s.name(rel), pfs.Invalid, "the link leads out of the package, to %s: copy that into the package, or list the link in .paddleignore", at)
		}
	}
	if !info.IsDir() && !info.IsRegular() {
		return pfs.Errorf(op, s.name(rel), pfs.Invalid, "neither a file nor a directory: remove it, or list it in .paddleignore")
	}
	switch takes, enters := filter.Takes(rel, info.IsDir()); {
	case !takes && enters && info.IsDir(): // it is there for the files in it
		before := len(s.entries)
		err := s.directory(ctx, at, rel)
		if len(s.entries) > before {
			s.entries[rel] = entry{dir: true}
		}
		return err
	case !takes:
		s.left++
		return nil
	}
	if len(s.entries) == maxFiles {
		return pfs.Errorf(op, s.root.Path, pfs.Limit, "more than %d files and directories: list what the program does not need in .paddleignore", maxFiles)
	}
	s.entries[rel] = entry{dir: info.IsDir(), size: info.Size, time: info.ModTime}
	if info.IsDir() {
		return s.directory(ctx, at, rel)
	}
	s.files++
	s.bytes += info.Size
	if s.largest == "" || info.Size > s.entries[s.largest].size {
		s.largest = rel
	}
	if s.bytes > maxBytes {
		return pfs.Errorf(op, s.root.Path, pfs.Limit, "the package has more than %d GiB, %d bytes of it in %s: training data belongs into inputs (--input), or list it in .paddleignore",
			maxBytes>>30, s.entries[s.largest].size, s.largest)
	}
	return nil
}

// name returns the path of the entry rel, as the user sees it.
func (s *scanner) name(rel string) pfs.Path {
	if rel == "" {
		return s.root.Path
	}
	return s.root.Path + "/" + pfs.Path(rel)
}

// upload makes the directory target equal to c, which is the content of source. Only what differs is
// sent. When it returns nil, all files of c are whole at the target, and nothing else is.
func (c *content) upload(ctx context.Context, source, target transfer.End, opts transfer.Options, watch func(*transfer.Job) func()) error {
	const op = "submit.upload"
	if err := c.compare(ctx, target, true); err != nil && !errors.Is(err, pfs.NotExist) {
		return err
	}
	opts.Filter, opts.Links, opts.Parents = c.rules, transfer.Follow, true
	var failed error // the first
	opts.Events = func(e transfer.Event) {
		if e.Kind == transfer.Failed && failed == nil {
			failed = e.Err
		}
		if e.Kind == transfer.Skipped && e.Reason != transfer.Equal && failed == nil {
			failed = pfs.Errorf(op, e.Path, pfs.Conflict, "it was not uploaded: %s", e.Reason)
		}
	}
	j, err := transfer.New(opts)
	if err != nil {
		return err
	}
	if watch != nil {
		defer watch(j)()
	}
	if err := j.Copy(ctx, source, target); err != nil {
		if failed != nil {
			return failed
		}
		return err
	}
	if failed != nil {
		return failed
	}
	if err := c.unchanged(ctx, source); err != nil {
		return err
	}
	return c.compare(ctx, target, false)
}

// unchanged returns an error that names an entry that has changed since the scan: the package would be
// a mixture of versions.
func (c *content) unchanged(ctx context.Context, source transfer.End) error {
	const text = "it changed while the package was uploaded: submit again when nothing writes to the package, or list it in .paddleignore"
	now, err := scan(ctx, source)
	if err != nil {
		return err
	}
	for rel, was := range c.entries {
		if is, ok := now.entries[rel]; !ok || is.dir != was.dir || !was.dir && (is.size != was.size || !is.time.Equal(was.time)) {
			return pfs.Errorf("submit.unchanged", source.Path+"/"+pfs.Path(rel), pfs.Conflict, text)
		}
	}
	for rel := range now.entries {
		if _, ok := c.entries[rel]; !ok {
			return pfs.Errorf("submit.unchanged", source.Path+"/"+pfs.Path(rel), pfs.Conflict, text)
		}
	}
	return nil
}

// compare compares the names, types and sizes of the tree target with c. With remove it removes what c
// has not, or has as another type; else it returns an error for it, and for what is missing or has
// another size.
func (c *content) compare(ctx context.Context, target transfer.End, remove bool) error {
	const op = "submit.compare"
	found := 0
	err := pfs.Walk(ctx, target.FS, target.Path, func(name pfs.Path, info pfs.Info, err error) error {
		if err != nil || name == target.Path {
			return err
		}
		want, ok := c.entries[strings.TrimPrefix(string(name[len(target.Path):]), "/")]
		fits := ok && want.dir == info.IsDir() && (want.dir || info.IsRegular())
		switch {
		case !fits && remove && info.IsDir():
			if err := pfs.RemoveTree(ctx, target.FS, name); err != nil {
				return err
			}
			return fs.SkipDir
		case !fits && remove:
			return target.FS.Remove(ctx, name)
		case !fits || !remove && !want.dir && info.Size != want.size:
			return pfs.Errorf(op, name, pfs.Conflict, "it changed while the package was uploaded: does another submit use this name?")
		}
		found++
		return nil
	})
	if err == nil && !remove && found != len(c.entries) {
		err = pfs.Errorf(op, target.Path, pfs.Conflict, "%d of %d entries arrived: does another submit use this name?", found, len(c.entries))
	}
	return err
}
