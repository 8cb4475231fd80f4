package main

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// target takes one operand.
func (l *ls) target(ctx context.Context, t target) error {
	info, err := t.stat(ctx)
	if err != nil {
		return err
	}
	if t.contents && info.IsRegular() {
		return pfs.E("paddlectl.ls", t.path, pfs.NotDir, nil)
	}
	isDir := info.IsDir()
	if info.IsLink() && (t.contents || !l.o.long) && !l.o.dirs {
		if isDir, err = leadsToDir(ctx, t); err != nil {
			return err
		}
	}
	info.Name = string(t.path)
	if isDir && !l.o.dirs {
		return l.dirs.add(info)
	}
	return l.files.add(info)
}

// leadsToDir reports whether the link t leads to a directory, and not to a file or
// nothing.
func leadsToDir(ctx context.Context, t target) (bool, error) {
	_, err := t.fs.List(ctx, t.path, pfs.ListOptions{Limit: 1})
	if errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.NotExist) {
		return false, nil
	}
	return err == nil, err
}

// showTargets shows all operands that were taken.
func (l *ls) showTargets(ctx context.Context) error {
	b := block{print: l.printFiles}
	if err := l.files.each(b.add); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	tally, silent := cliio.NewTally(l.d.reportFailure), &silence{}
	defer silent.tell(l.d.out)
	err := l.dirs.each(func(e pfs.Info) error {
		dir := pfs.Path(e.Name)
		err := silent.unless(dir, func() error { return l.showDir(ctx, dir) })
		tally.Add(err)
		if hopeless(ctx, err) {
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
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
		if err := l.d.out.JSON(newEntryJSON(name, e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *ls) showDir(ctx context.Context, dir pfs.Path) error {
	conn, err := l.d.remotes.at(ctx, dir)
	if err != nil {
		return err
	}
	return l.directory(ctx, conn.fs, dir)
}
