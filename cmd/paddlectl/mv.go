package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type mvOptions struct {
	changeOptions
	asking    asking
	noClobber bool
}

func (d *deps) mvCommand() *cli.Command {
	var o mvOptions
	return d.command(spec{
		name: "mv", args: "SRC... DEST", least: 2, most: -1,
		summary: "rename or move files",
		text: `Renames SRC to DEST, or moves it into DEST if that is a directory. Both are paths of
services: between one and this machine files are copied, with cp, which leaves it to
you when the source goes. Several sources, quoted patterns, and a DEST that ends in a
slash need a directory that is there. A file at the new name is replaced. Inside a
store that is one step; between stores and datacenters the source is copied, verified,
and then removed, except for what has changed in the meantime. An interrupted move
goes on if the same command is run again: a directory that is not moved whole has a
file ` + movingName + ` in it until then.`,
		examples: []string{
			"paddlectl mv /pfs/dc1/home/alice/a.csv /pfs/dc1/home/alice/b.csv",
			"paddlectl mv '/pfs/dc1/home/alice/*.log' /pfs/dc1/home/alice/logs/",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-clobber", Aliases: []string{"n"}, Usage: "do not replace what exists", Destination: &o.noClobber},
			o.asking.forceFlag("replace files that exist (the default)"),
			o.asking.interactiveFlag("ask before a file is replaced"),
			o.verboseFlag("print each path that was moved"), o.jsonFlag(),
		},
		run: func(ctx context.Context, operands []string) error { return runMv(ctx, d, o, operands) },
	})
}

func runMv(ctx context.Context, d *deps, o mvOptions, operands []string) error {
	o.begin(d)
	if err := o.asking.check(o.noClobber); err != nil {
		return err
	}
	list, err := d.remoteOperands(operands)
	if err != nil {
		return d.acrossMachines(operands, err)
	}
	last := len(list) - 1
	many, err := d.isMany(ctx, list[:last])
	if err != nil {
		return err
	}
	to, err := d.target(ctx, list[last], many)
	if err == nil {
		err = to.checkDir(ctx, d)
	}
	if err != nil {
		return err
	}
	if from := list[:last]; !o.noClobber && (len(from) > 1 || from[0].isScattered()) {
		if err := d.checkTwice(ctx, from, to.end.Path); err != nil {
			return err
		}
	}
	m := &mover{d: d, o: o, to: to}
	if err := m.goOn(ctx, list[0]); err != nil {
		return err
	}
	return d.eachContent(ctx, operands[:last], func(t target) error { return m.move(ctx, t) })
}

// acrossMachines returns what to say of operands of which some are on a service and some
// are not, and err of all others.
func (d *deps) acrossMachines(operands []string, err error) error {
	here, there := "", false
	for _, text := range operands {
		switch o, perr := d.parseOperand(text); {
		case perr != nil:
			return err
		case o.side == remote:
			there = true
		case here == "" && text != "-":
			here = text
		}
	}
	if here == "" || !there {
		return err
	}
	return cliargs.Usagef("%q is a path of this machine, and mv moves on the service only: copy with cp, then remove what was copied", here)
}

// checkDir refuses a DEST that has to be a directory and is none: unlike cp, mv makes
// nothing but the new name.
func (t copyTarget) checkDir(ctx context.Context, d *deps) error {
	switch {
	case t.isDir:
		return nil
	case t.slash && !t.exists:
		err := pfs.E("paddlectl.mv", t.end.Path, pfs.NotExist, nil)
		return parentHint(ctx, err, t.end, d.out.Program+" mkdir -p "+shellWord(string(t.end.Path)))
	case t.slash:
		return pfs.E("paddlectl.mv", t.end.Path, pfs.NotDir, nil)
	case t.many:
		return cliargs.Usagef("%q is no directory, and several sources need one", t.text)
	}
	return nil
}

// mkdirHint adds the way out to an error that says that the parent of at is missing.
func (d *deps) mkdirHint(ctx context.Context, err error, at transfer.End) error {
	return parentHint(ctx, err, at, d.out.Program+" mkdir -p "+shellWord(string(at.Path.Parent())))
}

// mover is one run of the command.
type mover struct {
	d     *deps
	o     mvOptions
	to    copyTarget
	again bool // the same move was interrupted
}

func (m *mover) move(ctx context.Context, t target) error {
	if isRoot(t.path) {
		return cliargs.Usagef("%s is not moved: it is a directory of the service", t.path)
	}
	to := m.to.end
	if m.to.isDir {
		to.Path = to.Path.Join(t.path.Base())
	}
	if err := m.checkInside(ctx, t, to); err != nil {
		return err
	}
	if yes, err := m.mayReplace(ctx, t, to); err != nil || !yes {
		return err
	}
	err := pfs.E("paddlectl.mv", to.Path, pfs.CrossStore, nil)
	if t.fs == to.FS && !m.again {
		err = m.rename(ctx, t, to.Path)
	}
	if errors.Is(err, pfs.CrossStore) {
		err = m.carry(ctx, t, to)
	}
	if err != nil {
		return m.hint(ctx, t, to, err)
	}
	m.o.done(m.d, eventJSON{Event: "moved", Path: string(t.path), Target: string(to.Path)}, fmt.Sprintf("%s -> %s", t.path, to.Path))
	return nil
}

// mayReplace asks about the file at the new name, if there is one and questions are wanted.
func (m *mover) mayReplace(ctx context.Context, t target, to transfer.End) (bool, error) {
	if !m.o.asking.interactive || m.again || t.fs == to.FS && t.path == to.Path {
		return true, nil
	}
	switch there, err := to.FS.Stat(ctx, to.Path); {
	case isMissing(err):
		return true, nil
	case err != nil:
		return false, err
	case there.IsDir():
		return true, nil // which is refused, or empty
	}
	return m.o.asking.may(ctx, m.d, "replace", to.Path)
}

// checkInside refuses to move a directory into itself, in the user's words.
func (m *mover) checkInside(ctx context.Context, t target, to transfer.End) error {
	if t.fs != to.FS || t.path == to.Path || !to.Path.Within(t.path) {
		return nil
	}
	info, err := t.stat(ctx)
	if err == nil && info.IsDir() {
		err = pfs.Errorf("paddlectl.mv", to.Path, pfs.Invalid, "it is inside the source %s: choose a target outside", t.path)
	}
	return err
}

// hint names the way out if it is the parent of the new name that is missing.
func (m *mover) hint(ctx context.Context, t target, to transfer.End, err error) error {
	if !errors.Is(err, pfs.NotExist) {
		return err
	}
	if _, serr := t.fs.Stat(ctx, t.path); serr != nil {
		return err
	}
	return m.d.mkdirHint(ctx, err, to)
}

func (m *mover) rename(ctx context.Context, t target, to pfs.Path) error {
	info, err := t.stat(ctx)
	if err != nil {
		return err
	}
	if m.o.noClobber {
		err = pfs.RenameExclusive(ctx, t.fs, t.path, to)
	} else {
		err = t.fs.Rename(ctx, t.path, to)
	}
	if err != nil && renamedBefore(ctx, t, to, info) {
		return nil
	}
	return err
}

// renamedBefore reports whether what was at t, as info says, is at to instead: a service that
// was killed before it could answer had renamed it, and the one that was asked again does not
// know of that.
func renamedBefore(ctx context.Context, t target, to pfs.Path, info pfs.Info) bool {
	if _, err := t.fs.Stat(ctx, t.path); !isMissing(err) {
		return false
	}
	there, err := t.fs.Stat(ctx, to)
	return err == nil && there.Mode == info.Mode && there.Size == info.Size && there.Target == info.Target &&
		there.ModTime.Equal(info.ModTime) && there.Digest == info.Digest
}

// carry copies t to another store and then removes it.
func (m *mover) carry(ctx context.Context, t target, to transfer.End) error {
	info, err := t.stat(ctx)
	switch {
	case m.again && isMissing(err):
		return m.end(ctx, to) // it was removed already
	case err != nil:
		return err
	}
	if err := m.checkTarget(ctx, info, to); err != nil {
		return err
	}
	if !info.IsDir() || m.to.isDir {
		return m.copyAndRemove(ctx, t, to)
	}
	if err := m.begin(ctx, t, to); err != nil {
		return err
	}
	if err := m.copyAndRemove(ctx, t, to); err != nil {
		return err
	}
	return m.end(ctx, to)
}

// checkTarget refuses what carry may not replace, before it makes anything.
func (m *mover) checkTarget(ctx context.Context, info pfs.Info, to transfer.End) error {
	if m.again {
		return nil
	}
	switch there, err := to.FS.Stat(ctx, to.Path); {
	case isMissing(err):
		return nil
	case err != nil:
		return err
	case m.o.noClobber:
		return pfs.E("paddlectl.mv", to.Path, pfs.Exist, nil)
	case info.IsDir() && !there.IsDir():
		return pfs.E("paddlectl.mv", to.Path, pfs.NotDir, nil)
	}
	return nil
}

// copyAndRemove is carry of what is at its new name when it is whole.
func (m *mover) copyAndRemove(ctx context.Context, t target, to transfer.End) error {
	o := simpleCopy()
	o.links, o.noClobber = true, m.o.noClobber
	c := &copier{d: m.d, o: o, to: m.to, tops: map[pfs.Path]string{to.Path: string(t.path)}}
	err := m.d.transfer(ctx, o, c, func(ctx context.Context, job *transfer.Job) error {
		return job.Copy(ctx, m.d.remotes.once(t.end()), m.d.remotes.once(to))
	})
	if err != nil {
		return err
	}
	return m.removeCopied(ctx, t, to)
}

// removeCopied removes what is at the target as it is at the source. What came or
// changed after it was copied stays, and is reported.
func (m *mover) removeCopied(ctx context.Context, t target, to transfer.End) error {
	info, err := t.fs.Stat(ctx, t.path)
	if err != nil {
		return err
	}
	return m.removeEntry(ctx, t.end(), to, info)
}

func (m *mover) removeEntry(ctx context.Context, from, to transfer.End, info pfs.Info) error {
	if !info.IsDir() {
		return m.removeFile(ctx, from, to, info)
	}
	kept := cliio.NewTally(m.d.reportFailure)
	// A listing may run while what it has yielded is removed.
	for e, err := range pfs.Entries(ctx, from.FS, from.Path, nil) {
		if err != nil {
			return err
		}
		err = m.removeEntry(ctx,
			transfer.End{FS: from.FS, Path: from.Path.Join(e.Name)}, transfer.End{FS: to.FS, Path: to.Path.Join(e.Name)}, e)
		kept.Add(err)
		if hopelessIn(ctx, from.Path, err) {
			break
		}
	}
	if err := kept.Err(); err != nil {
		return err
	}
	return from.FS.Remove(ctx, from.Path)
}

func (m *mover) removeFile(ctx context.Context, from, to transfer.End, info pfs.Info) error {
	there, err := to.FS.Stat(ctx, to.Path)
	if errors.Is(err, pfs.NotExist) {
		return pfs.Errorf("paddlectl.mv", from.Path, pfs.Conflict, "not removed: there is no %s, and the same command copies what came meanwhile", to.Path)
	}
	if err != nil {
		return err
	}
	same := there.Mode.Type() == info.Mode.Type() && there.Size == info.Size && there.Target == info.Target &&
		(info.IsLink() || transfer.KeptAs(there.ModTime, info.ModTime))
	if !same {
		return pfs.Errorf("paddlectl.mv", from.Path, pfs.Conflict, "not removed: it differs from %s by now", to.Path)
	}
	return from.FS.Remove(ctx, from.Path)
}
