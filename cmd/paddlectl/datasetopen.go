package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// dataset is a set of shards with its manifest.
type dataset struct {
	*manifest.Manifest
	dir    transfer.End
	sum    string // BLAKE3 of the text of the manifest
	shown  string // the directory as messages and lists show it, with a slash at the end
	remote bool
}

// openDataset reads the manifest of the dataset that an operand names: its directory,
// its prefix in there, its manifest, or what dataset publish made of it.
func (d *deps) openDataset(ctx context.Context, text string) (*dataset, error) {
	op, err := d.parseOperand(text)
	if err == nil && op.side == stdio {
		err = cliargs.Usagef("\"-\" is no dataset: its directory is needed, or DIR/PREFIX")
	}
	if err != nil {
		return nil, err
	}
	e, err := d.end(ctx, op)
	if err != nil {
		return nil, err
	}
	info, err := e.FS.Stat(ctx, e.Path)
	if err == nil && info.IsLink() {
		e, info, err = followed(ctx, e, true)
	}
	switch {
	case err == nil && info.IsDir():
		return d.datasetIn(ctx, e, strings.TrimSuffix(text, "/")+"/")
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
		return nil, hinted{pfs.Errorf("paddlectl.dataset", e.Path, pfs.NotExist, "no dataset: there is no manifest of that name"), wayToDataset}
	}
	return s, missing
}

const wayToDataset = "name the directory of the shards, or DIR/PREFIX; paddlectl dataset convert makes datasets"

// noDataset is the error for a directory that is there and holds no dataset.
func noDataset(ctx context.Context, dir transfer.End) error {
	name := localText(dir.Path)
	why := dataError{errNamed{name, errors.New("no dataset: there is no manifest in this directory")}, pfs.NotExist}
	switch files, begun := insteadOfDataset(ctx, dir); {
	case begun != "":
		return hinted{why, "a conversion to " + begun + " was not completed, or is at work: the same paddlectl dataset convert with --resume goes on"}
	case files:
		return hinted{why, "the files in it are " + shellWord(strings.TrimSuffix(name, "/")+"/*") + "; " + wayToDataset}
	}
	return hinted{why, wayToDataset}
}

// insteadOfDataset looks into a directory without a manifest: whether there are files that
// patterns find, and the dataset of which a conversion has begun, "" if there is none.
// What cannot be listed is said by the error that it explains.
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
func (d *deps) datasetIn(ctx context.Context, dir transfer.End, shown string) (*dataset, error) {
	names, latest, err := datasetsIn(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 1:
		return readDataset(ctx, dir, names[0], shown)
	case len(names) > 1:
		return nil, cliargs.Usagef("%s holds the datasets %s: name one, as %s%s", strings.TrimSuffix(shown, "/"),
			strings.Join(names, ", "), shown, names[0])
	}
	n, err := newestVersion(ctx, dir, latest)
	if err != nil {
		return nil, err
	}
	return readVersion(ctx, dir, n, fmt.Sprintf("%s%d/", shown, n))
}

// datasetsIn lists the datasets in a directory, and says whether it is that of a
// published one.
func datasetsIn(ctx context.Context, dir transfer.End) (names []string, latest bool, err error) {
	const most = 1000
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		if err != nil {
			return nil, false, err
		}
		latest = latest || e.Name == latestName && !e.IsDir()
		if name, ok := manifest.DatasetOf(e.Name); ok && len(names) < most {
			names = append(names, name)
		}
	}
	return names, latest, nil
}

// readDataset reads the manifest of the dataset name in dir.
func readDataset(ctx context.Context, dir transfer.End, name, shown string) (*dataset, error) {
	at := dir.Path.Join(manifest.FileName(name))
	text, err := readSmall(ctx, dir.FS, at, manifest.MaxBytes+1)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Read(bytes.NewReader(text))
	if err != nil {
		return nil, pfs.E("paddlectl.dataset", at, pfs.Integrity, err)
	}
	if m.Name != name {
		return nil, pfs.Errorf("paddlectl.dataset", at, pfs.Integrity, "it is the manifest of %q", m.Name)
	}
	s := &dataset{Manifest: m, dir: dir, shown: shown, remote: dir.Path.Within(top)}
	s.sum, err = digestOf(ctx, text)
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

// shard is shard i as a file of data.
func (s *dataset) shard(i int) dataFile {
	m := s.Shards[i]
	return dataFile{
		text: s.shown + m.Name, end: transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(m.Name)},
		stated: &stated{m.Bytes, m.Records, s.setText(), s.Payload, "paddlectl dataset verify " + shellWord(s.setText()) + " tells all that is wrong"},
	}
}

// files are all shards.
func (s *dataset) files() []dataFile {
	files := make([]dataFile, len(s.Shards))
	for i := range s.Shards {
		files[i] = s.shard(i)
	}
	return files
}

// datasetOrFiles are the files that operands name, in the order given: the shards of
// datasets, and files. A dataset is checked as far as names and sizes tell, and returned
// if it is all that is named.
func (d *deps) datasetOrFiles(ctx context.Context, operands []string) (*dataset, []dataFile, error) {
	return d.datasetOrDamaged(ctx, operands, recordio.Fail)
}

// datasetOrDamaged is datasetOrFiles for who passes over damage by a policy: a shard may
// have become shorter.
func (d *deps) datasetOrDamaged(ctx context.Context, operands []string, policy recordio.Policy) (*dataset, []dataFile, error) {
	if len(operands) == 1 && operands[0] != "-" {
		s, err := d.openDataset(ctx, operands[0])
		if err == nil {
			return s, s.files(), d.checkShards(ctx, s, policy)
		}
		if !isMissing(err) {
			return nil, nil, err
		}
		if isDir, statErr := d.isDirectory(ctx, operands[0]); statErr != nil || isDir {
			return nil, nil, errors.Join(err, statErr)
		}
	}
	files, err := d.datasetsAndFiles(ctx, operands, policy)
	return nil, files, err
}

// datasetsAndFiles are the shards of those operands that are datasets, and the files
// that the others name.
func (d *deps) datasetsAndFiles(ctx context.Context, operands []string, policy recordio.Policy) ([]dataFile, error) {
	var list []dataFile
	err := d.eachDataFile(ctx, operands, func(f dataFile) error {
		isDir, err := f.isDirectory(ctx)
		if err == nil && !isDir {
			list = append(list, f)
			return nil
		}
		if err != nil && !isMissing(err) {
			return err
		}
		s, noSet := d.openDataset(ctx, f.text)
		switch {
		case isMissing(noSet) && err != nil:
			return err // it is neither a file nor DIR/PREFIX
		case noSet != nil:
			return noSet
		}
		list = append(list, s.files()...)
		return d.checkShards(ctx, s, policy)
	})
	return list, err
}

// isDirectory reports whether an operand names a directory that is there.
func (d *deps) isDirectory(ctx context.Context, text string) (bool, error) {
	op, err := d.parseOperand(text)
	if err != nil {
		return false, err
	}
	e, err := d.end(ctx, op)
	if err != nil {
		return false, err
	}
	isDir, err := dataFile{text: text, end: e}.isDirectory(ctx)
	if isMissing(err) {
		return false, nil
	}
	return isDir, err
}

// setText says what a dataset is in a few words.
func (s *dataset) setText() string {
	return fmt.Sprintf("%s%s", s.shown, s.Name)
}

// dirText is the directory as the user named it.
func (s *dataset) dirText() string {
	if len(s.shown) > 1 {
		return strings.TrimSuffix(s.shown, "/")
	}
	return cmp.Or(s.shown, ".")
}

// readSmall reads a file of at most so many bytes; of a longer one, only these.
func readSmall(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, most int64) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, min(most, f.Info().Size))
	return text, pfs.ReadFull(ctx, f, text, 0)
}
