package files

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

// target takes one operand.
func (l *ls) target(ctx context.Context, t app.Target) error {
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if t.Contents && info.IsRegular() {
		return pfs.E("paddlectl.ls", t.Path, pfs.NotDir, nil)
	}
	isDir := info.IsDir()
	if info.IsLink() && (t.Contents || !l.o.long) && !l.o.dirs {
		if isDir, err = leadsToDir(ctx, t); err != nil {
			return err
		}
	}
	info.Name = string(t.Path)
	if isDir && !l.o.dirs {
		return l.dirs.Add(info)
	}
	return l.files.Add(info)
}

// leadsToDir reports whether the link t leads to a directory, and not to a file or
// nothing.
func leadsToDir(ctx context.Context, t app.Target) (bool, error) {
	_, err := t.FS.List(ctx, t.Path, pfs.ListOptions{Limit: 1})
	if errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.NotExist) {
		return false, nil
	}
	return err == nil, err
}

// showTargets shows all operands that were taken.
func (l *ls) showTargets(ctx context.Context) error {
	b := block{print: l.printFiles}
	if err := l.files.Each(b.add); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	tally, silent := cliio.NewTally(l.a.ReportFailure), &app.Silence{}
	defer silent.Tell(l.a.Printer)
	err := l.dirs.Each(func(e pfs.Info) error {
		dir := pfs.Path(e.Name)
		err := silent.Unless(dir, func() error { return l.showDir(ctx, dir) })
		tally.Add(err)
		if app.Hopeless(ctx, err) {
			return app.ErrStop
		}
		return nil
	})
	if err != nil && err != app.ErrStop {
		return err
	}
	return tally.Err()
}

// printFiles shows operands by their paths.
func (l *ls) printFiles(entries []pfs.Info) error {
	l.begun = l.begun || len(entries) > 0
	if !l.o.json {
		l.lines(entries)
		return nil
	}
	for _, e := range entries {
		name := pfs.Path(e.Name)
		e.Name = name.Base()
		if err := l.a.JSON(app.NewEntryJSON(name, e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *ls) showDir(ctx context.Context, dir pfs.Path) error {
	conn, err := l.a.Remotes.At(ctx, dir)
	if err != nil {
		return err
	}
	return l.directory(ctx, conn.FS, dir)
}
