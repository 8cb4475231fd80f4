package dataset

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
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
func openDataset(ctx context.Context, a *app.App, text string) (*dataset, error) {
	op, err := a.ParseOperand(text)
	if err == nil && op.Side == app.Stdio {
		err = cliargs.Usagef("\"-\" is no dataset: its directory is needed, or DIR/PREFIX")
	}
	if err != nil {
		return nil, err
	}
	e, err := a.End(ctx, op)
	if err != nil {
		return nil, err
	}
	info, err := e.FS.Stat(ctx, e.Path)
	if err == nil && info.IsLink() {
		e, info, err = app.Followed(ctx, e, true)
	}
	switch {
	case err == nil && info.IsDir():
		return datasetIn(ctx, a, e, strings.TrimSuffix(text, "/")+"/")
	case err != nil && !app.IsMissing(err):
		return nil, err
	}
	name := e.Path.Base()
	if of, ok := manifest.DatasetOf(name); ok {
		name = of
	}
	shown := strings.TrimSuffix(strings.TrimSuffix(text, "/"), e.Path.Base())
	s, missing := readDataset(ctx, transfer.End{FS: e.FS, Path: e.Path.Parent()}, name, shown)
	if app.IsMissing(missing) {
		return nil, app.WithHint(pfs.Errorf("paddlectl.dataset", e.Path, pfs.NotExist, "no dataset: there is no manifest of that name"), wayToDataset)
	}
	return s, missing
}

const wayToDataset = "name the directory of the shards, or DIR/PREFIX; paddlectl dataset convert makes datasets"

// noDataset is the error for a directory that is there and holds no dataset.
func noDataset(ctx context.Context, dir transfer.End) error {
	name := app.LocalText(dir.Path)
	why := datafile.DataError(app.NamedError(name, errors.New("no dataset: there is no manifest in this directory")), pfs.NotExist)
	switch files, begun := insteadOfDataset(ctx, dir); {
	case begun != "":
		return app.WithHint(why, "a conversion to "+begun+" was not completed, or is at work: the same paddlectl dataset convert with --resume goes on")
	case files:
		return app.WithHint(why, "the files in it are "+app.ShellWord(strings.TrimSuffix(name, "/")+"/*")+"; "+wayToDataset)
	}
	return app.WithHint(why, wayToDataset)
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
func datasetIn(ctx context.Context, a *app.App, dir transfer.End, shown string) (*dataset, error) {
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
	text, err := app.ReadSmall(ctx, dir.FS, at, manifest.MaxBytes+1)
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
	s := &dataset{Manifest: m, dir: dir, shown: shown, remote: dir.Path.Within(app.Top)}
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
func (s *dataset) shard(i int) datafile.File {
	m := s.Shards[i]
	return datafile.File{
		Text: s.shown + m.Name, End: transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(m.Name)},
		Stated: &datafile.Stated{Bytes: m.Bytes, Records: m.Records, Set: s.setText(), Payload: s.Payload, Verify: "paddlectl dataset verify " + app.ShellWord(s.setText()) + " tells all that is wrong"},
	}
}

// files are all shards.
func (s *dataset) files() []datafile.File {
	files := make([]datafile.File, len(s.Shards))
	for i := range s.Shards {
		files[i] = s.shard(i)
	}
	return files
}

// datasetOrFiles are the files that operands name, in the order given: the shards of
// datasets, and files. A dataset is checked as far as names and sizes tell, and returned
// if it is all that is named.
func datasetOrFiles(ctx context.Context, a *app.App, operands []string) (*dataset, []datafile.File, error) {
	return datasetOrDamaged(ctx, a, operands, recordio.Fail)
}

// datasetOrDamaged is datasetOrFiles for who passes over damage by a policy: a shard may
// have become shorter.
func datasetOrDamaged(ctx context.Context, a *app.App, operands []string, policy recordio.Policy) (*dataset, []datafile.File, error) {
	if len(operands) == 1 && operands[0] != "-" {
		s, err := openDataset(ctx, a, operands[0])
		if err == nil {
			return s, s.files(), checkShards(ctx, a, s, policy)
		}
		if !app.IsMissing(err) {
			return nil, nil, err
		}
		if isDir, statErr := isDirectory(ctx, a, operands[0]); statErr != nil || isDir {
			return nil, nil, errors.Join(err, statErr)
		}
	}
	files, err := datasetsAndFiles(ctx, a, operands, policy)
	return nil, files, err
}

// datasetsAndFiles are the shards of those operands that are datasets, and the files
// that the others name.
func datasetsAndFiles(ctx context.Context, a *app.App, operands []string, policy recordio.Policy) ([]datafile.File, error) {
	var list []datafile.File
	err := datafile.Each(ctx, a, operands, func(f datafile.File) error {
		isDir, err := f.IsDirectory(ctx)
		if err == nil && !isDir {
			list = append(list, f)
			return nil
		}
		if err != nil && !app.IsMissing(err) {
			return err
		}
		s, noSet := openDataset(ctx, a, f.Text)
		switch {
		case app.IsMissing(noSet) && err != nil:
			return err // it is neither a file nor DIR/PREFIX
		case noSet != nil:
			return noSet
		}
		list = append(list, s.files()...)
		return checkShards(ctx, a, s, policy)
	})
	return list, err
}

// isDirectory reports whether an operand names a directory that is there.
func isDirectory(ctx context.Context, a *app.App, text string) (bool, error) {
	op, err := a.ParseOperand(text)
	if err != nil {
		return false, err
	}
	e, err := a.End(ctx, op)
	if err != nil {
		return false, err
	}
	isDir, err := datafile.File{Text: text, End: e}.IsDirectory(ctx)
	if app.IsMissing(err) {
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

// checkShards compares the names and the sizes of the files of a dataset with its
// manifest: what is missing or of another set would be noticed by nobody who reads
// what is there. The sizes only matter where damage ends what is done.
func checkShards(ctx context.Context, a *app.App, s *dataset, policy recordio.Policy) error {
	found, err := findSet(ctx, s.dir, s.Name)
	if err != nil {
		return err
	}
	if err := shard.CompareSet(found.shards, s.Names()); err != nil {
		return fmt.Errorf("%s: %w", s.setText(), err)
	}
	for i := range s.Shards {
		f := s.shard(i)
		size, known := found.sizes[s.Shards[i].Name]
		if !known || policy != recordio.Fail {
			continue // a link: its file is looked at when it is opened
		}
		if err := f.Stated.OfSize(f.End, size); err != nil {
			return err
		}
	}
	return nil
}
