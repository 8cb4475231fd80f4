package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// foundSet is the dataset found in a directory.
type foundSet struct {
	dir      transfer.End
	name     string
	manifest bool
	shards   []string         // sorted
	sizes    map[string]int64 // of the shards that are regular files, by name
}

// findSet looks for the dataset name in dir.
func findSet(ctx context.Context, dir transfer.End, name string) (*foundSet, error) {
	s := &foundSet{dir: dir, name: name, sizes: map[string]int64{}}
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		switch {
		case err != nil:
			return nil, err
		case e.Name == manifest.FileName(name):
			s.manifest = true
		case isShardOf(e.Name, name):
			s.shards = append(s.shards, e.Name)
			if e.IsRegular() {
				s.sizes[e.Name] = e.Size
			}
		}
	}
	slices.Sort(s.shards)
	return s, nil
}

// isShardOf reports whether file has the form of a shard's name: NAME-00001 or
// NAME-00001-of-00010.
func isShardOf(file, dataset string) bool {
	rest, ok := strings.CutPrefix(file, dataset+"-")
	number, total, of := strings.Cut(rest, "-of-")
	return ok && isDigits(number) && (!of || isDigits(total))
}

// isDigits reports whether s has the form of a number in a shard's name.
func isDigits(s string) bool { return len(s) >= 5 && strings.Trim(s, "0123456789") == "" }

// withdraw removes the manifest of the set and then those of its shards that no new one replaces,
// so that the set never seems complete and is never mixed with the new one.
func (s *foundSet) withdraw(ctx context.Context, replaced []manifest.Shard) error {
	if s.manifest {
		if err := s.dir.FS.Remove(ctx, s.dir.Path.Join(manifest.FileName(s.name))); err != nil && !isMissing(err) {
			return err
		}
	}
	stay := map[string]bool{}
	for _, n := range replaced {
		stay[n.Name] = true
	}
	for _, name := range s.shards {
		if stay[name] {
			continue
		}
		if err := s.dir.FS.Remove(ctx, s.dir.Path.Join(name)); err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

// lookAtSet refuses to continue if a set is in the way. With --resume the set may be what this
// conversion makes, so that nothing is left to do.
func (c *conversion) lookAtSet(ctx context.Context) error {
	if !c.set.manifest || c.o.Force {
		return nil
	}
	at := c.o.Dir.Path.Join(manifest.FileName(c.o.Name))
	if !c.o.Resume {
		return failure(Exists, "dataset.Convert", at, pfs.Exist, "the dataset exists")
	}
	made, err := readDataset(ctx, c.o.Dir, c.o.Name, strings.TrimSuffix(c.o.Title, "/")+"/")
	if err != nil {
		return err
	}
	if why := c.in.differ(made.Manifest, c.o); why != "" {
		return failure(Exists, "dataset.Convert", at, pfs.Exist, "the dataset exists, and is not what this command makes: %s", why)
	}
	if err := c.newerInput(ctx, at); err != nil {
		return err
	}
	if err := made.Check(ctx, recordio.Fail); err != nil {
		return err
	}
	for i, s := range made.Shards {
		end := made.Shard(i).End
		sum, err := digest.Stored(ctx, end.FS, end.Path, digest.BLAKE3, nil)
		if err != nil {
			return err
		}
		if sum != s.Digest {
			return failure(Exists, "dataset.Convert", end.Path, pfs.Integrity, "the shard is not the one that the manifest states")
		}
	}
	c.made = made
	return nil
}

// differ names the input or option in which a set differs from what o makes of the inputs, if the
// manifest shows one; else it returns "".
func (in *inputs) differ(m *manifest.Manifest, o *settings) string {
	before, now := slices.Clone(m.Options), o.ofBytes()
	if m.Bad == 0 { // then the option made no difference
		skips := func(option string) bool { return option == "--bad=skip" }
		before, now = slices.DeleteFunc(before, skips), slices.DeleteFunc(now, skips)
	}
	if why := difference(before, now); why != "" {
		return why
	}
	return difference(inputTexts(m.Inputs), inputTexts(in.list()))
}

// inputTexts describes inputs in words.
func inputTexts(list []manifest.Input) (texts []string) {
	for _, in := range list {
		texts = append(texts, fmt.Sprintf("%s of %s, %s", in.Path, count(in.Files, "file", "files"), count(in.Bytes, "byte", "bytes")))
	}
	return texts
}

// difference describes the first difference between the arguments of an earlier run and of this
// one; "" if there is none.
func difference(before, now []string) string {
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			return fmt.Sprintf("it was made with %s, which is not given", before[i])
		case i >= len(before):
			return fmt.Sprintf("it was made without %s", now[i])
		case before[i] == now[i]:
		case slices.Contains(before, now[i]) && !slices.Contains(now, before[i]):
			return fmt.Sprintf("it was made with %s, which is not given", before[i])
		case slices.Contains(now, before[i]) && !slices.Contains(before, now[i]):
			return fmt.Sprintf("it was made without %s", now[i])
		default:
			return fmt.Sprintf("it was made with %s, not %s", before[i], now[i])
		}
	}
	return ""
}

// newerInput returns an error if an input may have changed since the set at was made, although it
// has the same name and size.
func (c *conversion) newerInput(ctx context.Context, at pfs.Path) error {
	info, err := c.o.Dir.FS.Stat(ctx, at)
	if err != nil {
		return err
	}
	for _, g := range c.in.groups {
		switch {
		case g.operand.Stream != nil:
			return failure(Exists, "dataset.Convert", at, pfs.Exist, "the dataset exists; whether standard input is what it was made of is not known")
		case g.newest.After(info.ModTime):
			return failure(Exists, "dataset.Convert", at, pfs.Exist, "the dataset exists, and %s was changed after it", g.newestName)
		}
	}
	return nil
}

// checkInputs refuses inputs that the set would replace or remove, by whatever name or link they
// were given. There may be millions of inputs, so it compares them with the few outputs that exist.
func (c *conversion) checkInputs(ctx context.Context) error {
	targets, err := c.existingOutputs(ctx)
	if err != nil || len(targets) == 0 {
		return err
	}
	for _, g := range c.in.groups {
		if err := g.checkNone(ctx, c.o, targets); err != nil {
			return err
		}
	}
	return nil
}

// existingOutputs lists the files that the conversion may replace or remove, by their size.
func (c *conversion) existingOutputs(ctx context.Context) (map[int64][]transfer.End, error) {
	ends := []transfer.End{{FS: c.o.Dir.FS, Path: c.o.Dir.Path.Join(manifest.FileName(c.o.Name))}}
	for _, name := range c.set.shards {
		ends = append(ends, transfer.End{FS: c.o.Dir.FS, Path: c.o.Dir.Path.Join(name)})
	}
	if c.o.BadFile != nil && c.o.BadFile.FS != nil {
		ends = append(ends, *c.o.BadFile)
		dir, base := c.o.BadFile.Path.Parent(), c.o.BadFile.Path.Base()
		if c.o.BadFile.FS == c.o.Dir.FS && dir == c.o.Dir.Path && (isShardOf(base, c.o.Name) || base == manifest.FileName(c.o.Name)) {
			return nil, invalid("--bad-file %s: the dataset has a file of that name", base)
		}
	}
	if c.work.exists {
		for e, err := range pfs.Entries(ctx, c.work.fs, c.work.dir, nil) {
			if err != nil {
				return nil, err
			}
			ends = append(ends, transfer.End{FS: c.work.fs, Path: c.work.dir.Join(e.Name)})
		}
	}
	return thoseThere(ctx, ends)
}

// thoseThere returns the files that exist, by their size.
func thoseThere(ctx context.Context, ends []transfer.End) (map[int64][]transfer.End, error) {
	files := map[int64][]transfer.End{}
	for _, end := range ends {
		_, info, err := end.Follow(ctx)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[info.Size] = append(files[info.Size], end)
	}
	return files, nil
}

// checkNone returns an error that names both files if an input of g is one of the targets.
func (g *inputGroup) checkNone(ctx context.Context, o *settings, targets map[int64][]transfer.End) error {
	refuse := func(f recordfile.File, t transfer.End) error {
		if !isSameFile(ctx, o.SameFile, f, t) {
			return nil
		}
		return invalid("the input %s is the output %s, which would replace or remove it: name another --output-path, --name-prefix or --bad-file", f.Title, t.Path)
	}
	if g.operand.Stream != nil {
		for _, list := range targets {
			for _, t := range list {
				if err := refuse(g.operand.File, t); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return g.found.Each(func(f pfs.Info) error {
		for _, t := range targets[f.Size] {
			in := recordfile.File{Title: f.Name, End: transfer.End{FS: g.fs, Path: pfs.Path(f.Name)}}
			if err := refuse(in, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// isSameFile reports whether an input is the file e.
func isSameFile(ctx context.Context, other func(context.Context, recordfile.File, transfer.End) bool, in recordfile.File, e transfer.End) bool {
	return in.LeadsTo(ctx, e) || other != nil && other(ctx, in, e)
}
