package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// PublishOptions are the options of Publish.
type PublishOptions struct {
	Force        bool // make a new version even if the set is the newest one already
	ChangeSchema bool // allow prefix, columns, classes and payload to differ from the newest version
	AllowEmpty   bool // publish a set without records

	// Found, if not nil, is called for each shard of the set that is not what its manifest states.
	Found func(ShardReport)
	// Copy copies the shards, and leaves existing files; nil: a transfer.Job does.
	Copy func(ctx context.Context, pairs iter.Seq2[transfer.Pair, error]) error
}

// Published is a published version.
type Published struct {
	Version int
	Dir     transfer.End
	Already bool // it was that version before
}

// DamagedError reports a dataset that is not what its manifest states.
type DamagedError struct {
	Dataset string
	Report  VerifyReport
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: %d same, %d damaged, %d missing, %d stale", e.Dataset, e.Report.Same, e.Report.Damaged, e.Report.Missing, e.Report.Stale)
}

// Unwrap returns the Kind.
func (e *DamagedError) Unwrap() error { return pfs.Integrity }

// Publish verifies s, copies it to the directory N in top with N the next free number, checks the
// copy, and writes its manifest last: a version without one is not complete. A complete version
// never changes. The file latest in top then has that number. To resume an interrupted publication,
// call Publish again.
func (s *Dataset) Publish(ctx context.Context, top transfer.End, o PublishOptions) (*Published, error) {
	if s.Records == 0 && !o.AllowEmpty {
		return nil, invalid("%s has no records: --allow-empty publishes it", s.Title())
	}
	p := &publication{o: o, s: s, top: top}
	var err error
	if p.text, err = manifest.Encode(s.Manifest); err != nil {
		return nil, err
	}
	report, err := s.Verify(ctx, VerifyOptions{Found: o.Found})
	if err != nil {
		return nil, err
	}
	if !report.OK() {
		return nil, &DamagedError{s.Title(), report}
	}
	if err := p.claim(ctx); err != nil {
		return nil, err
	}
	if !p.old {
		for _, step := range []func(context.Context) error{p.copy, p.check, p.complete} {
			if err := step(ctx); err != nil {
				return nil, err
			}
		}
	}
	return &Published{p.n, p.version(), p.old}, p.advance(ctx)
}

// publication is one call of Publish.
type publication struct {
	o    PublishOptions
	s    *Dataset
	top  transfer.End // of all versions
	n    int          // the version that is made
	text []byte       // of the manifest
	old  bool         // version n existed before, complete
}

// copy copies the shards. It keeps existing files: check compares them.
func (p *publication) copy(ctx context.Context) error {
	if p.o.Copy != nil {
		return p.o.Copy(ctx, p.pairs())
	}
	job, err := transfer.New(transfer.Options{Overwrite: transfer.NoReplace})
	if err != nil {
		return err
	}
	return job.CopyAll(ctx, p.pairs())
}

// pairs returns the shards and their copies.
func (p *publication) pairs() iter.Seq2[transfer.Pair, error] {
	return func(yield func(transfer.Pair, error) bool) {
		for i, s := range p.s.Shards {
			to := p.version()
			to.Path = to.Path.Join(s.Name)
			if !yield(transfer.Pair{Source: p.s.Shard(i).End, Target: to}, nil) {
				return
			}
		}
	}
}

// check compares the stored copies with the manifest, and refuses other files.
func (p *publication) check(ctx context.Context) error {
	dir := p.version()
	unnamed := ""
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, func(quoted string) { unnamed = quoted }) {
		if err != nil {
			return err
		}
		if _, ok := slices.BinarySearch(p.s.Names(), e.Name); !ok && e.Name != claimName {
			dir.Path = dir.Path.Join(e.Name)
			return refused(Stray, dir, "it is not part of the set and would be published with it")
		}
	}
	if unnamed != "" {
		return refused(UnnamedStray, dir, "entry "+unnamed+" is not part of the set and would be published with it")
	}
	for _, s := range p.s.Shards {
		at := dir.Path.Join(s.Name)
		sum, err := digest.Stored(ctx, dir.FS, at, digest.BLAKE3, nil)
		if err != nil {
			return err
		}
		if sum != s.Digest {
			return pfs.Errorf("dataset.Publish", at, pfs.Integrity, "its digest is %s, want %s: remove it and publish again", sum, s.Digest)
		}
	}
	return nil
}

// complete writes the manifest.
func (p *publication) complete(ctx context.Context) error {
	dir := p.version()
	at := dir.Path.Join(manifest.FileName(p.s.Name))
	err := pfs.WriteBatch(ctx, dir.FS, []pfs.BatchEntry{{Path: at, Mode: 0o644, Data: p.text, Digest: digest.Bytes(p.text), NoReplace: true}})[0]
	if errors.Is(err, pfs.Exist) || errors.Is(err, pfs.ReadOnly) {
		// Another run of the same publication was faster, or the answer to this one was lost.
		text, rerr := recordfile.ReadSmall(ctx, dir.FS, at, int64(len(p.text))+1)
		if rerr == nil && bytes.Equal(text, p.text) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if err := dir.FS.Remove(ctx, dir.Path.Join(claimName)); err != nil && !isMissing(err) {
		return err
	}
	return nil
}

// advance writes n to latest, unless latest has a higher number of a complete version.
func (p *publication) advance(ctx context.Context) error {
	now, err := readLatest(ctx, p.top)
	switch {
	case err == nil && now == p.n:
		return nil
	case err != nil && !leadsNowhere(err):
		return err
	case err == nil && now > p.n:
		if newer, err := isComplete(ctx, p.top, now); err != nil || newer {
			return err
		}
	}
	return writeLatest(ctx, p.top, p.n)
}

// claimName is the file that identifies the publication of an unfinished version: it has the digest
// of the manifest to come.
const claimName = ".publishing"

// version returns the directory of version n.
func (p *publication) version() transfer.End { return versionIn(p.top, p.n) }

// claim finds the version to make: an unfinished one of this dataset, or the next free number. Of
// two publishers at once one gets the number and the other the next. If the newest version is this
// dataset, claim sets old.
func (p *publication) claim(ctx context.Context) error {
	if err := pfs.MkdirAll(ctx, p.top.FS, p.top.Path, 0o755); err != nil {
		return err
	}
	for {
		newest, complete, err := p.versions(ctx)
		if err != nil {
			return err
		}
		if p.n = complete; complete > 0 {
			if p.old, err = p.isPublished(ctx); err != nil || p.old {
				return err
			}
		}
		if p.n = newest; newest > complete {
			if mine, err := p.isMine(ctx); err != nil || mine {
				return err
			}
		}
		if p.n++; p.n > mostVersions {
			return refused(TooManyVersions, p.top, fmt.Sprintf("there is no version number after %d", newest))
		}
		if mine, err := p.take(ctx); err != nil || mine {
			return err
		}
	}
}

// take makes version n and claims it; false if another publisher did.
func (p *publication) take(ctx context.Context) (bool, error) {
	dir := p.version()
	if err := dir.FS.Mkdir(ctx, dir.Path, 0o755); err != nil {
		return false, err
	}
	at := dir.Path.Join(claimName)
	err := pfs.WriteBatch(ctx, dir.FS, []pfs.BatchEntry{{Path: at, Mode: 0o644, Data: []byte(p.s.Digest), NoReplace: true}})[0]
	if errors.Is(err, pfs.Exist) || errors.Is(err, pfs.ReadOnly) {
		return false, nil // claimed, or complete already
	}
	if err != nil {
		return false, err
	}
	// Another publisher may have completed it and released the claim before we took ours.
	complete, err := isComplete(ctx, p.top, p.n)
	if err != nil || !complete {
		return err == nil, err
	}
	if err := dir.FS.Remove(ctx, at); err != nil && !isMissing(err) {
		return false, err
	}
	return false, nil
}

// versions returns the highest numbers of any version and of a complete one; 0 if there is none.
func (p *publication) versions(ctx context.Context) (newest, complete int, err error) {
	all, err := versionsIn(ctx, p.top)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	newest = all[len(all)-1]
	for _, n := range slices.Backward(all) {
		if there, err := isComplete(ctx, p.top, n); err != nil || there {
			return newest, n, err
		}
	}
	return newest, 0, nil
}

// isPublished reports whether version n, which is complete, is this dataset. If it is another one,
// it must have the same schema.
func (p *publication) isPublished(ctx context.Context) (bool, error) {
	dir := p.version()
	names, _, err := datasetsIn(ctx, dir)
	if err != nil || len(names) != 1 {
		return false, err
	}
	now, err := readDataset(ctx, dir, names[0], "")
	switch {
	case err != nil:
		return false, err
	case now.Digest == p.s.Digest:
		return !p.o.Force, nil
	case p.o.ChangeSchema:
		return false, nil
	}
	if what := otherSchema(now.Manifest, p.s.Manifest); what != "" {
		return false, refused(OtherSchema, dir, "the newest version has "+what)
	}
	return false, nil
}

// refused is the error for a publication that does not fit what is published already. Repeating it
// does not help.
func refused(reason Reason, at transfer.End, why string) error {
	return plain(reason, at, pfs.Conflict, why)
}

// otherSchema describes how the schema of a set differs from that of the version before; "" if it
// does not.
func otherSchema(before, now *manifest.Manifest) string {
	switch {
	case before.Name != now.Name:
		return fmt.Sprintf("the prefix %q, this set %q", before.Name, now.Name)
	case before.Payload != now.Payload:
		return fmt.Sprintf("records of %s, this set %s", before.Payload, now.Payload)
	case !slices.Equal(before.Columns, now.Columns):
		return fmt.Sprintf("the columns %.200s, this set %.200s", ColumnsText(before.Columns), ColumnsText(now.Columns))
	case !slices.Equal(before.Classes, now.Classes):
		return fmt.Sprintf("the classes %.200s, this set %.200s", strings.Join(before.Classes, ", "), strings.Join(now.Classes, ", "))
	}
	return ""
}

// isMine reports whether version n, which is not complete, is one of this dataset.
func (p *publication) isMine(ctx context.Context) (bool, error) {
	dir := p.version()
	text, err := recordfile.ReadSmall(ctx, dir.FS, dir.Path.Join(claimName), int64(len(p.s.Digest))+1)
	if isMissing(err) {
		return false, nil
	}
	return string(text) == p.s.Digest, err
}

// ColumnsText names the columns with their types.
func ColumnsText(columns []manifest.Column) string { return strings.Join(ColumnTexts(columns), ", ") }

// ColumnTexts returns each column with its type. In a table without names, columns have numbers; if
// others have names, an empty name is shown as such.
func ColumnTexts(columns []manifest.Column) []string {
	named := slices.ContainsFunc(columns, func(c manifest.Column) bool { return c.Name != "" })
	list := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		switch {
		case name == "" && named:
			name = `""`
		case name == "":
			name = strconv.Itoa(i + 1)
		}
		list[i] = name + " " + c.Type
	}
	return list
}
