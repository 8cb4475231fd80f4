package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// claimName is the file that says whose unfinished version a directory is: the digest
// of the manifest that is going to be there.
const claimName = ".publishing"

// version is the directory of version n.
func (p *publication) version() transfer.End { return versionIn(p.top, p.n) }

// claim finds the version to make: an unfinished one of this dataset, or the next
// free number. Of two publishers at once one gets the number and the other the next. If
// the newest version is this dataset it sets old.
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
			return refused(p.top, fmt.Sprintf("there is no number for a version behind %d", newest), "another NAME begins again with 1")
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
	err := pfs.WriteBatch(ctx, dir.FS, []pfs.BatchEntry{{Path: at, Mode: 0o644, Data: []byte(p.s.sum), NoReplace: true}})[0]
	if errors.Is(err, pfs.Exist) || errors.Is(err, pfs.ReadOnly) {
		return false, nil // claimed, or complete already
	}
	if err != nil {
		return false, err
	}
	// Another may have completed it and given up the claim between the look and ours.
	complete, err := isComplete(ctx, p.top, p.n)
	if err != nil || !complete {
		return err == nil, err
	}
	if err := dir.FS.Remove(ctx, at); err != nil && !app.IsMissing(err) {
		return false, err
	}
	return false, nil
}

// versions returns the highest number of a version, and that of a complete one; 0 if
// there is none.
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

// isPublished reports whether version n, which is complete, is this dataset. Where it is
// another one it must have the same schema.
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
	case now.sum == p.s.sum:
		return !p.o.force, nil
	case p.o.changeSchema:
		return false, nil
	}
	if what := otherSchema(now.Manifest, p.s.Manifest); what != "" {
		return false, refused(dir, "the newest version has "+what,
			"--change-schema publishes it all the same; another NAME keeps the two apart")
	}
	return false, nil
}

// refused is the error for a publication that does not fit what is published at a place:
// nothing there has changed meanwhile, and to repeat the command is no way out.
func refused(at transfer.End, why, way string) error {
	return app.WithHint(datafile.DataError(app.NamedError(app.LocalText(at.Path), errors.New(why)), pfs.Conflict), way)
}

// otherSchema says in what a set differs, for who reads it, from the version before; ""
// if it does not.
func otherSchema(before, now *manifest.Manifest) string {
	switch {
	case before.Name != now.Name:
		return fmt.Sprintf("the prefix %q, this set %q", before.Name, now.Name)
	case before.Payload != now.Payload:
		return fmt.Sprintf("records of %s, this set %s", before.Payload, now.Payload)
	case !slices.Equal(before.Columns, now.Columns):
		return fmt.Sprintf("the columns %.200s, this set %.200s", columnsText(before.Columns), columnsText(now.Columns))
	case !slices.Equal(before.Classes, now.Classes):
		return fmt.Sprintf("the classes %.200s, this set %.200s", strings.Join(before.Classes, ", "), strings.Join(now.Classes, ", "))
	}
	return ""
}

// isMine reports whether version n, which is not complete, is one of this dataset.
func (p *publication) isMine(ctx context.Context) (bool, error) {
	dir := p.version()
	text, err := app.ReadSmall(ctx, dir.FS, dir.Path.Join(claimName), int64(len(p.s.sum))+1)
	if app.IsMissing(err) {
		return false, nil
	}
	return string(text) == p.s.sum, err
}
