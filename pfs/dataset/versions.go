package dataset

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// LatestName is the file of a published dataset that has the number of its latest version, for which
// the name of the dataset stands.
const LatestName = "latest"

// mostVersions is the highest number of a version.
const mostVersions = 1_000_000_000

// VersionOf returns the number of a version from its name; false if it cannot be one.
func VersionOf(name string) (int, bool) {
	n, ok := versionOf(name)
	return n, ok && n <= mostVersions
}

// versionOf is VersionOf, but returns mostVersions+1 for a number that is too high.
func versionOf(name string) (int, bool) {
	if name == "" || strings.Trim(name, "0123456789") != "" || name[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	if err != nil || n > mostVersions {
		n = mostVersions + 1
	}
	return n, true
}

// versionIn returns the directory of version n of a published dataset.
func versionIn(dir transfer.End, n int) transfer.End {
	dir.Path = dir.Path.Join(strconv.Itoa(n))
	return dir
}

// versionsIn lists the directories of versions, complete or not, by number.
func versionsIn(ctx context.Context, dir transfer.End) ([]int, error) {
	var all []int
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		if err != nil {
			return nil, err
		}
		n, ok := versionOf(e.Name)
		switch {
		case !ok || !e.IsDir():
			continue
		case n > mostVersions:
			return nil, pfs.Errorf("dataset.Open", dir.Path.Join(e.Name), pfs.Invalid,
				"no version has a number above %d: remove or rename this directory", mostVersions)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all, nil
}

// isComplete reports whether version n has a manifest of any set.
func isComplete(ctx context.Context, dir transfer.End, n int) (bool, error) {
	names, _, err := datasetsIn(ctx, versionIn(dir, n))
	if isMissing(err) {
		return false, nil
	}
	return len(names) > 0, err
}

// Versions lists the complete versions of the published dataset in dir, by number.
func Versions(ctx context.Context, dir transfer.End) ([]int, error) {
	all, err := versionsIn(ctx, dir)
	if err != nil {
		return nil, err
	}
	var complete []int
	for _, n := range all {
		there, err := isComplete(ctx, dir, n)
		if err != nil {
			return nil, err
		}
		if there {
			complete = append(complete, n)
		}
	}
	return complete, nil
}

// OpenVersion reads the manifest of version n of the published dataset in dir.
func OpenVersion(ctx context.Context, dir transfer.End, n int) (*Dataset, error) {
	return readVersion(ctx, dir, n, string(versionIn(dir, n).Path)+"/")
}

// SetLatest makes n the latest version of the published dataset in dir. The version must be
// complete: SetLatest compares names and sizes of its shards with its manifest.
func SetLatest(ctx context.Context, dir transfer.End, n int) (*Dataset, error) {
	whole, err := isComplete(ctx, dir, n)
	if err == nil && !whole {
		err = WithVersions(ctx, dir, pfs.Errorf("dataset.SetLatest", versionIn(dir, n).Path, pfs.NotExist, "this is not a complete version"))
	}
	if err != nil {
		return nil, err
	}
	s, err := OpenVersion(ctx, dir, n)
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx, recordio.Fail); err != nil {
		return nil, err
	}
	return s, writeLatest(ctx, dir, n)
}

// readVersion is OpenVersion for a directory whose name in messages is shown.
func readVersion(ctx context.Context, dir transfer.End, n int, shown string) (*Dataset, error) {
	dir = versionIn(dir, n)
	names, _, err := datasetsIn(ctx, dir)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, pfs.Errorf("dataset.Open", dir.Path, pfs.Integrity, "a published version has one manifest, this one %d", len(names))
	}
	return readDataset(ctx, dir, names[0], shown)
}

// readLatest returns the number in the file latest, which a service shows as a link to that version.
// It answers NotExist if there is none, and Integrity if it has no number.
func readLatest(ctx context.Context, dir transfer.End) (int, error) {
	const most = 32
	at := dir.Path.Join(LatestName)
	info, err := dir.FS.Stat(ctx, at)
	if err != nil {
		return 0, err
	}
	text := []byte(info.Target)
	if !info.IsLink() {
		if text, err = recordfile.ReadSmall(ctx, dir.FS, at, most); err != nil {
			return 0, err
		}
	}
	n, ok := versionOf(strings.TrimSuffix(string(text), "\n"))
	if !ok || n > mostVersions {
		return 0, pfs.Errorf("dataset.Open", at, pfs.Integrity, "%.32q is not a version number", text)
	}
	return n, nil
}

// writeLatest writes n to latest, atomically.
func writeLatest(ctx context.Context, dir transfer.End, n int) error {
	text := []byte(strconv.Itoa(n) + "\n")
	return pfs.WriteBatch(ctx, dir.FS, []pfs.BatchEntry{{Path: dir.Path.Join(LatestName), Mode: 0o644, Data: text}})[0]
}

// Latest returns the number of the latest version of the dataset in dir. If there is no such
// version, the error lists the existing ones.
func Latest(ctx context.Context, dir transfer.End) (int, error) {
	n, err := readLatest(ctx, dir)
	if err != nil {
		return 0, WithVersions(ctx, dir, err)
	}
	there, err := isComplete(ctx, dir, n)
	if err == nil && !there {
		err = WithVersions(ctx, dir, pfs.Errorf("dataset.Open", dir.Path.Join(LatestName), pfs.NotExist, "it has %d, which is not a complete version", n))
	}
	return n, err
}

// WithVersions adds the existing versions to the reason why latest leads nowhere.
func WithVersions(ctx context.Context, dir transfer.End, why error) error {
	if !leadsNowhere(why) {
		return why
	}
	complete, err := Versions(ctx, dir)
	switch {
	case err != nil:
		return err
	case len(complete) == 0 && errors.As(why, new(*Error)):
		return why
	case len(complete) == 0:
		return &Error{Reason: NotDataset, Path: dir.Path, Err: why}
	}
	return &Error{Reason: NoVersion, Path: dir.Path, Versions: complete, Err: errAfter{why, "it has the versions " + versionsText(complete)}}
}

// leadsNowhere reports whether the error of readLatest means that there is no latest version.
func leadsNowhere(err error) bool { return isMissing(err) || errors.Is(err, pfs.Integrity) }

// errAfter appends a remark to an error.
type errAfter struct {
	error
	remark string
}

func (e errAfter) Error() string { return e.error.Error() + ": " + e.remark }
func (e errAfter) Unwrap() error { return e.error }

// versionsText formats numbers of versions, only the last few of many.
func versionsText(all []int) string {
	const most = 5
	var parts []string
	if len(all) > most {
		parts, all = append(parts, "..."), all[len(all)-most:]
	}
	for _, n := range all {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}
