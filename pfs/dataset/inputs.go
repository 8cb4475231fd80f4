package dataset

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// inputs are the files that the operands of convert name, found but not open. Memory does not grow
// with their number.
type inputs struct {
	o      *settings
	groups []*inputGroup
	files  int64
	bytes  int64    // of all; -1 if one is a stream
	labels []string // of all directories that have data, sorted after the walk
	known  map[label]bool
	rules  transfer.Filter // for entries below directories
	trees  bool            // an operand is a directory

	perhapsImages bool // a name indicates images, or no format

	strays strays

	records *recordFiles // of the format recordio; nil for others
	mnist   *mnistPairs
	parts   partFiles
	meter   recordfile.Meter
}

// label is the name of a directory, and what the name of a file in it indicates.
type label struct{ name, said string }

// labelFrom chooses the directory that is the label of a file.
type labelFrom string

const (
	labelFromTop  labelFrom = "top" // the one right below the operand
	labelFromDir  labelFrom = "dir" // the one that the file is in
	labelFromNone labelFrom = "none"
)

// of returns the label of the file name, whose path below the operand is rel; "" if it has none.
func (f labelFrom) of(name pfs.Path, rel string) string {
	switch top, _, nested := strings.Cut(rel, "/"); {
	case f == labelFromDir:
		return strings.Trim(path.Base(path.Dir(string(name))), "/.")
	case f == labelFromTop && nested:
		return top
	}
	return ""
}

// inputGroup has the files that one operand names.
type inputGroup struct {
	operand Input
	fs      pfs.FileSystem
	found   *sorter.Sorter[pfs.Info]
	below   survey // of the files below directories
	files   int64
	bytes   int64

	newest     time.Time // modification time of the file that was changed last
	newestName string    // its name in messages
}

// findInputs finds what the operands name. The caller closes it.
func findInputs(ctx context.Context, o *settings) (*inputs, error) {
	rules, err := transfer.NewFilter(o.Rules)
	if err != nil {
		return nil, err
	}
	in := &inputs{o: o, known: map[label]bool{}, rules: rules, mnist: newMNISTPairs()}
	for _, operand := range o.Inputs {
		if err := in.add(ctx, operand); err != nil {
			in.close()
			return nil, err
		}
	}
	switch {
	case len(o.Rules) > 0 && !in.trees:
		err = invalid("--include and --exclude do nothing: they choose below directories, and no input is one")
	case o.LabelFrom != "" && !in.perhapsImages && in.files > 0:
		err = invalid("--label-from does nothing: labels of directories are for images, and by their names the inputs are none")
	}
	if err != nil {
		in.close()
		return nil, err
	}
	in.chooseData(o.Format)
	return in, nil
}

// listLabels lists the labels of the files that are data.
func (in *inputs) listLabels() {
	names := map[string]bool{}
	for l := range in.known {
		if !isStray(l.said, in.strays.kept) {
			names[l.name] = true
		}
	}
	in.known, in.labels = nil, slices.Sorted(maps.Keys(names))
}

func (in *inputs) close() {
	for _, g := range in.groups {
		if g.found != nil {
			g.found.Close() // on failure its file stays in the directory for temporary files
		}
	}
}

// add finds what one operand names.
func (in *inputs) add(ctx context.Context, operand Input) error {
	g := &inputGroup{operand: operand, below: survey{}}
	in.groups = append(in.groups, g)
	if operand.Stream != nil {
		g.files, in.perhapsImages = 1, true
		in.files, in.bytes = in.files+1, -1
		return nil
	}
	g.found = sorter.New(byName)
	err := operand.Each(ctx, func(f recordfile.File) error {
		g.fs = f.End.FS
		return in.addPath(ctx, g, f, len(in.o.Inputs) == 1 && f.Title == operand.Title)
	})
	in.files += g.files
	if in.bytes >= 0 {
		in.bytes += g.bytes
	}
	return err
}

// byName orders entries by name.
func byName(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) }

// inputTree is a directory that is walked, with the prefixes of its files in messages and in
// records.
type inputTree struct {
	dir         pfs.Path
	title, name string
}

// rel returns the path of a file below the directory.
func (t inputTree) rel(name pfs.Path) string {
	return strings.TrimPrefix(string(name), strings.TrimSuffix(string(t.dir), "/")+"/")
}

// baseOf returns the last part of an operand: manifests and records do not reveal where on this
// machine the data was.
func baseOf(text string) string { return path.Base(filepath.ToSlash(text)) }

// addPath adds the file f, or all files below the directory f. If alone is set, records name these
// by their path below it.
func (in *inputs) addPath(ctx context.Context, g *inputGroup, f recordfile.File, alone bool) error {
	text := f.Title
	e, info, err := f.End.Follow(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return in.addFile(ctx, g, foundInput{path: e.Path, title: text, name: baseOf(text)}, "", info)
	}
	in.trees = true
	shown := inputTree{dir: e.Path, title: strings.TrimSuffix(text, "/") + "/"}
	if !alone {
		shown.name = baseOf(text) + "/"
	}
	return pfs.Walk(ctx, e.FS, e.Path, func(name pfs.Path, info pfs.Info, err error) error {
		switch {
		case err != nil:
			return err
		case name == e.Path:
			return nil
		}
		takes, enters := in.takes(shown.rel(name), info)
		switch {
		case info.IsDir() && !enters:
			return fs.SkipDir
		case info.IsDir() || !takes:
			return nil
		}
		return in.addBelow(ctx, g, transfer.End{FS: e.FS, Path: name}, info, shown)
	})
}

// takes reports whether an entry below a directory is taken, and whether something below it may
// be. Dot-files are not.
func (in *inputs) takes(rel string, info pfs.Info) (takes, enters bool) {
	if strings.HasPrefix(info.Name, ".") {
		return false, false
	}
	return in.rules.Takes(rel, info.IsDir())
}

// addBelow adds one entry of a directory that is walked. It follows links to files.
func (in *inputs) addBelow(ctx context.Context, g *inputGroup, e transfer.End, info pfs.Info, below inputTree) error {
	if info.IsLink() {
		_, to, err := e.Follow(ctx)
		if err != nil {
			return err
		}
		info = to
	}
	if !info.IsRegular() {
		in.o.Tell(string(e.Path) + ": left out: not a regular file")
		return nil
	}
	rel := below.rel(e.Path)
	return in.addFile(ctx, g, foundInput{path: e.Path, title: below.title + rel, name: below.name + rel}, rel, info)
}

// addFile adds a file whose path below the operand is rel, "" for the operand itself.
func (in *inputs) addFile(ctx context.Context, g *inputGroup, f foundInput, rel string, info pfs.Info) error {
	in.mnist.add(ctx, transfer.End{FS: g.fs, Path: f.path}, f.title)
	said := saidBy(f.path.Base())
	in.perhapsImages = in.perhapsImages || said == imagesName || !isFormat(said)
	if rel != "" {
		f.said = said
		in.parts.add(f.path.Base(), said, f.title)
		g.below.add(f.said, info.Size)
	}
	if f.label = in.o.label.of(f.path, rel); f.label != "" {
		in.known[label{f.label, f.said}] = true
	}
	g.noteTime(info, f.title)
	return g.add(f, info.Size)
}

// noteTime keeps the newest modification time.
func (g *inputGroup) noteTime(info pfs.Info, title string) {
	if info.ModTime.After(g.newest) {
		g.newest, g.newestName = info.ModTime, title
	}
}

// foundInput is a file. title is its name in messages, name that in records. said is what its name
// says about its format, "" for an operand.
type foundInput struct {
	path                     pfs.Path
	title, name, label, said string
}

// add records a file in the fields of an Info, which sorters take.
func (g *inputGroup) add(f foundInput, size int64) error {
	g.files++
	g.bytes += size
	return g.found.Add(pfs.Info{Name: string(f.path), Target: f.title, Group: f.name, Owner: f.label, Version: f.said, Size: size})
}

// list describes the operands for the manifest.
func (in *inputs) list() []manifest.Input {
	list := make([]manifest.Input, len(in.groups))
	for i, g := range in.groups {
		list[i] = manifest.Input{Path: baseOf(g.operand.name()), Files: g.files, Bytes: g.bytes}
	}
	return list
}

// sources yields the inputs in the order of the operands, and by path within one. If mnist is set,
// files of labels go with their images.
func (in *inputs) sources(mnist bool) iter.Seq2[convert.Source, error] {
	return func(yield func(convert.Source, error) bool) {
		in.strays.count, in.strays.first = 0, nil
		for _, g := range in.groups {
			if g.operand.Stream != nil {
				if !yield(in.source(g, pfs.Info{}), nil) {
					return
				}
				continue
			}
			err := g.found.Each(func(f pfs.Info) error {
				if isStray(f.Version, in.strays.kept) {
					in.strays.add(f)
					return nil
				}
				s, ok := in.source(g, f), true
				if mnist {
					s, ok = in.paired(g, f)
				}
				if ok && !yield(s, nil) {
					return errStop
				}
				return nil
			})
			if err == errStop || err != nil && !yield(convert.Source{}, err) {
				return
			}
		}
	}
}

// paired is source for a file that may be of MNIST; false for labels, which go with their images.
func (in *inputs) paired(g *inputGroup, f pfs.Info) (convert.Source, bool) {
	end, s := transfer.End{FS: g.fs, Path: pfs.Path(f.Name)}, in.source(g, f)
	if labels, ok := in.mnist.labels[end]; ok {
		name := string(labels.Path)
		s = convert.WithLabels(s, in.source(g, pfs.Info{Name: name, Target: name, Group: name}))
	}
	return s, !in.mnist.taken[end]
}

// source makes the source of one file.
func (in *inputs) source(g *inputGroup, f pfs.Info) convert.Source {
	file := recordfile.File{Title: f.Target, End: transfer.End{FS: g.fs, Path: pfs.Path(f.Name)}, Remote: g.operand.Remote}
	if g.operand.Stream != nil {
		file, f.Group = g.operand.File, g.operand.Title
	}
	class, _ := slices.BinarySearch(in.labels, f.Owner)
	return convert.Source{Name: f.Group, Title: file.Title, Label: f.Owner, Class: class, Bytes: f.Size, Open: func(ctx context.Context) (convert.Content, error) {
		return in.open(ctx, file)
	}}
}

// open opens a file for package convert.
func (in *inputs) open(ctx context.Context, f recordfile.File) (convert.Content, error) {
	src, err := recordfile.Open(ctx, f, in.meter)
	if err != nil {
		return convert.Content{}, err
	}
	in.meter.Begin(f.Title)
	c := convert.Content{Reader: src, ReaderAt: src.ReaderAt, Size: src.Size}
	if f.Stream == nil {
		c.Reader = &wholeReader{Input: src}
	}
	c.Close = func() error {
		in.meter.Finished()
		return errors.Join(unchanged(ctx, src), src.Close())
	}
	return c, nil
}

// errStop ends a loop early.
var errStop = errors.New("stop")

// unchanged answers Conflict if a file of this machine was replaced or changed while it was read;
// stores check that themselves. A file that was removed was still read to its end.
func unchanged(ctx context.Context, src *recordfile.Input) error {
	if src.Stream != nil || src.Remote || ctx.Err() != nil {
		return nil
	}
	info, err := src.End.FS.Stat(ctx, src.End.Path)
	if err != nil || info.IsLink() || info.Version == src.Info.Version {
		return nil
	}
	return pfs.Errorf("dataset.Convert", src.End.Path, pfs.Conflict, "the file was changed while it was read")
}

// wholeReader reads an input from its beginning to its end, and answers Conflict if the file ends
// before the length that it had when it was opened. Otherwise half a table would pass for a whole
// one.
type wholeReader struct {
	*recordfile.Input
	n int64
}

func (r *wholeReader) Read(p []byte) (int, error) {
	n, err := r.Input.Read(p)
	r.n += int64(n)
	if err == io.EOF && r.n < r.Size {
		err = pfs.Errorf("dataset.Read", r.End.Path, pfs.Conflict,
			"the file ends at byte %d; it had %d when it was opened", r.n, r.Size)
	}
	return n, err
}
