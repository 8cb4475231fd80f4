package dataset

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// Dataset is a set of shards with its manifest.
type Dataset struct {
	*manifest.Manifest
	Dir    transfer.End
	Digest string // BLAKE3 of the text of the manifest

	shown  string // the directory as messages show it, with a slash at the end
	remote bool
}

// Open reads the manifest of the dataset that f names. f is its directory, its prefix there
// (DIR/NAME), its manifest, or a published dataset, which means its latest version. Open checks
// nothing: see Check and Verify.
func Open(ctx context.Context, f recordfile.File) (*Dataset, error) {
	if f.Stream != nil {
		return nil, invalid("\"-\" is not a dataset: name its directory, or DIR/PREFIX")
	}
	s, err := open(ctx, f)
	if err == nil {
		s.remote = f.Remote
	}
	return s, err
}

func open(ctx context.Context, f recordfile.File) (*Dataset, error) {
	e, text := f.End, f.Title
	info, err := e.FS.Stat(ctx, e.Path)
	if err == nil && info.IsLink() {
		e, info, err = e.Follow(ctx)
	}
	switch {
	case err == nil && info.IsDir():
		return datasetIn(ctx, e, strings.TrimSuffix(text, "/")+"/")
	case err != nil && !isMissing(err):
		return nil, err
	}
	name := e.Path.Base()
	if of, ok := manifest.DatasetOf(name); ok {
		name = of
	}
	shown := strings.TrimSuffix(strings.TrimSuffix(text, "/"), e.Path.Base())
	s, missing := readDataset(ctx, transfer.End{FS: e.FS, Path: e.Path.Parent()}, name, shown)
	if isMissing(missing) {
		return nil, failure(NotDataset, "dataset.Open", e.Path, pfs.NotExist, "no dataset: there is no manifest of that name")
	}
	return s, missing
}

// noDataset is the error for an existing directory without a dataset.
func noDataset(ctx context.Context, dir transfer.End) error {
	e := plain(NotDataset, dir, pfs.NotExist, "no dataset: there is no manifest in this directory")
	e.Files, e.Begun = insteadOfDataset(ctx, dir)
	return e
}

// insteadOfDataset looks for the reason why a directory has no manifest. It returns whether there
// are files that patterns find, and the dataset whose conversion has begun, if any. It ignores
// errors, because it explains another one.
func insteadOfDataset(ctx context.Context, dir transfer.End) (files bool, begun string) {
	left := 1000
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		if left--; err != nil || left < 0 {
			break
		}
		files = files || e.IsRegular() && !strings.HasPrefix(e.Name, ".")
		if of, ok := strings.CutSuffix(e.Name, stagingSuffix); ok && e.IsDir() && len(of) > 1 && of[0] == '.' {
			return files, of[1:]
		}
	}
	return files, ""
}

// datasetIn reads the one dataset in a directory.
func datasetIn(ctx context.Context, dir transfer.End, shown string) (*Dataset, error) {
	names, latest, err := datasetsIn(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 1:
		return readDataset(ctx, dir, names[0], shown)
	case len(names) > 1:
		return nil, invalid("%s holds the datasets %s: name one, as %s%s", strings.TrimSuffix(shown, "/"),
			strings.Join(names, ", "), shown, names[0])
	case !latest:
		return nil, noDataset(ctx, dir)
	}
	n, err := Latest(ctx, dir)
	if err != nil {
		return nil, err
	}
	return readVersion(ctx, dir, n, fmt.Sprintf("%s%d/", shown, n))
}

// datasetsIn lists the datasets in a directory, and reports whether the directory is that of a
// published dataset.
func datasetsIn(ctx context.Context, dir transfer.End) (names []string, latest bool, err error) {
	const most = 1000
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		if err != nil {
			return nil, false, err
		}
		latest = latest || e.Name == LatestName && !e.IsDir()
		if name, ok := manifest.DatasetOf(e.Name); ok && len(names) < most {
			names = append(names, name)
		}
	}
	return names, latest, nil
}

// readDataset reads the manifest of the dataset name in dir.
func readDataset(ctx context.Context, dir transfer.End, name, shown string) (*Dataset, error) {
	at := dir.Path.Join(manifest.FileName(name))
	text, err := recordfile.ReadSmall(ctx, dir.FS, at, manifest.MaxBytes+1)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Read(bytes.NewReader(text))
	if err != nil {
		return nil, pfs.E("dataset.Open", at, pfs.Integrity, err)
	}
	if m.Name != name {
		return nil, pfs.Errorf("dataset.Open", at, pfs.Integrity, "it is the manifest of %q", m.Name)
	}
	s := &Dataset{Manifest: m, Dir: dir, shown: shown}
	s.Digest, err = digestOf(ctx, text)
	return s, err
}

// digestOf returns the digest of a text.
func digestOf(ctx context.Context, text []byte) (string, error) {
	read := func(p []byte, off int64) error {
		copy(p, text[off:])
		return nil
	}
	return digest.Of(ctx, read, int64(len(text)), digest.BLAKE3, 1, nil)
}

// Shard is shard i as a file of records.
func (s *Dataset) Shard(i int) recordfile.File {
	m := s.Shards[i]
	return recordfile.File{
		Title: s.shown + m.Name, End: transfer.End{FS: s.Dir.FS, Path: s.Dir.Path.Join(m.Name)}, Remote: s.remote,
		Stated: &recordfile.Stated{Bytes: m.Bytes, Records: m.Records, Dataset: s.Title(), Payload: s.Payload},
	}
}

// Files returns all shards.
func (s *Dataset) Files() []recordfile.File {
	files := make([]recordfile.File, len(s.Shards))
	for i := range s.Shards {
		files[i] = s.Shard(i)
	}
	return files
}

// Title is the dataset's name in messages.
func (s *Dataset) Title() string { return s.shown + s.Name }

// DirTitle is the directory's name in messages.
func (s *Dataset) DirTitle() string {
	if len(s.shown) > 1 {
		return strings.TrimSuffix(s.shown, "/")
	}
	return path.Clean(s.shown)
}

// Check compares the names and sizes of the shards with the manifest: readers would not notice a
// shard that is missing or of another set. Sizes only matter if policy ends at damage.
func (s *Dataset) Check(ctx context.Context, policy recordio.Policy) error {
	found, err := findSet(ctx, s.Dir, s.Name)
	if err != nil {
		return err
	}
	if err := shard.CompareSet(found.shards, s.Names()); err != nil {
		return fmt.Errorf("%s: %w", s.Title(), err)
	}
	for i := range s.Shards {
		f := s.Shard(i)
		size, known := found.sizes[s.Shards[i].Name]
		if !known || policy != recordio.Fail {
			continue // a link: its file is checked when it is opened
		}
		if err := f.Stated.OfSize(f.End, size); err != nil {
			return err
		}
	}
	return nil
}

// Find lists the files that inputs name, in this order: the shards of datasets, and other files. It
// checks names and sizes of a dataset under the policy for damage, and returns the dataset if it is
// the only one and nothing else is named.
func Find(ctx context.Context, inputs []Input, policy recordio.Policy) (*Dataset, []recordfile.File, error) {
	if len(inputs) == 1 && inputs[0].Stream == nil {
		in := inputs[0]
		s, err := Open(ctx, in.File)
		if err == nil {
			return s, s.Files(), s.Check(ctx, policy)
		}
		if !isMissing(err) {
			return nil, nil, err
		}
		if isDir, statErr := in.IsDir(ctx); isDir || statErr != nil && !isMissing(statErr) {
			return nil, nil, cmp.Or(statErr, err)
		}
	}
	var list []recordfile.File
	for _, in := range inputs {
		err := in.Each(ctx, func(f recordfile.File) error {
			files, err := filesOf(ctx, f, policy)
			list = append(list, files...)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, list, nil
}

// filesOf lists the shards of a dataset, or the one file.
func filesOf(ctx context.Context, f recordfile.File, policy recordio.Policy) ([]recordfile.File, error) {
	isDir, err := f.IsDir(ctx)
	if err == nil && !isDir {
		return []recordfile.File{f}, nil
	}
	if err != nil && !isMissing(err) {
		return nil, err
	}
	s, noSet := Open(ctx, f)
	switch {
	case isMissing(noSet) && err != nil:
		return nil, err // it is neither a file nor DIR/PREFIX
	case noSet != nil:
		return nil, noSet
	}
	return s.Files(), s.Check(ctx, policy)
}

// PayloadOf returns the encoding of the records of files from their manifests; "" if there are none.
// It refuses datasets with different encodings.
func PayloadOf(files []recordfile.File) (string, error) {
	var first *recordfile.Stated
	for _, f := range files {
		switch {
		case f.Stated == nil:
		case first == nil:
			first = f.Stated
		case f.Stated.Payload != first.Payload:
			return "", invalid("%s has records of %s, %s of %s: read them one after the other", first.Dataset, first.Payload, f.Stated.Dataset, f.Stated.Payload)
		}
	}
	if first == nil {
		return "", nil
	}
	return first.Payload, nil
}
