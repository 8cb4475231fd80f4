package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Mv returns the command mv.
func Mv(a *app.App) *cli.Command {
	m := &mover{App: a}
	return a.NewCommand(app.Spec{
		Name: "mv", Args: "SRC... DEST", Least: 2, Most: -1,
		Summary: "rename or move files",
		Text: `Renames SRC to DEST, or moves it into DEST if DEST is a directory. Both must be on a
service; between a service and this machine, copy with cp and remove the source. With
several sources, a quoted pattern or a DEST that ends in a slash, DEST must be an
existing directory. A file at the new name is replaced.

Inside a store a move is one step. Between stores and datacenters the source is copied,
verified, and then removed, except for what has changed in the meantime. To resume an
interrupted move, run the same command again. A directory that is not completely moved
contains a file ` + movingName + ` until then.`,
		Examples: []string{
			"paddlectl mv /pfs/dc1/home/alice/a.csv /pfs/dc1/home/alice/b.csv",
			"paddlectl mv '/pfs/dc1/home/alice/*.log' /pfs/dc1/home/alice/logs/",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-clobber", Aliases: []string{"n"}, Usage: "do not replace what exists", Destination: &m.noClobber},
			m.asking.ForceFlag("replace files that exist (the default)"),
			m.asking.InteractiveFlag("ask before a file is replaced"),
			m.VerboseFlag("print each path that was moved"), m.JSONFlag(),
		},
		Run: m.run,
	})
}

// mover is one run of the command.
type mover struct {
	*app.App
	app.ChangeOptions
	asking    app.Asking
	noClobber bool

	to    copying.Target
	again bool // the same move was interrupted
}

func (m *mover) run(ctx context.Context, operands []string) error {
	m.Begin(m.App)
	if err := m.asking.Check(m.noClobber); err != nil {
		return err
	}
	list, err := m.RemoteOperands(operands)
	if err != nil {
		return acrossMachines(m.App, operands, err)
	}
	from, last := list[:len(list)-1], list[len(list)-1]
	many, err := m.IsMany(ctx, from)
	if err != nil {
		return err
	}
	if m.to, err = copying.LookAt(ctx, m.App, last, many); err == nil {
		err = checkDir(ctx, m.to, m.App)
	}
	if err != nil {
		return err
	}
	if !m.noClobber && (len(from) > 1 || copying.IsScattered(from[0])) {
		if err := copying.CheckTwice(ctx, m.App, from, m.to.End.Path); err != nil {
			return err
		}
	}
	if err := m.goOn(ctx, list[0]); err != nil {
		return err
	}
	return m.EachContent(ctx, operands[:len(from)], func(t app.Target) error { return m.move(ctx, t) })
}

// acrossMachines returns the error for operands of which only some are on a service, and err for
// all others.
func acrossMachines(a *app.App, operands []string, err error) error {
	here, there := "", false
	for _, text := range operands {
		switch o, perr := a.ParseOperand(text); {
		case perr != nil:
			return err
		case o.Side == app.Remote:
			there = true
		case here == "" && text != "-":
			here = text
		}
	}
	if here == "" || !there {
		return err
	}
	return cliargs.Usagef("%q is a local path, and mv works only on the service: copy with cp, then remove the source", here)
}

// checkDir refuses a DEST that must be a directory and is not. Unlike cp, mv makes only the new
// name.
func checkDir(ctx context.Context, t copying.Target, a *app.App) error {
	switch {
	case t.IsDir:
		return nil
	case t.Slash && !t.Exists:
		err := pfs.E("paddlectl.mv", t.End.Path, pfs.NotExist, nil)
		return app.ParentHint(ctx, err, t.End, a.Program+" mkdir -p "+app.ShellWord(string(t.End.Path)))
	case t.Slash:
		return pfs.E("paddlectl.mv", t.End.Path, pfs.NotDir, nil)
	case t.Many:
		return cliargs.Usagef("%q is not a directory, and several sources need one", t.Text)
	}
	return nil
}

// mkdirHint adds the hint to an error about a missing parent of at.
func mkdirHint(ctx context.Context, a *app.App, err error, at transfer.End) error {
	return app.ParentHint(ctx, err, at, a.Program+" mkdir -p "+app.ShellWord(string(at.Path.Parent())))
}

func (m *mover) move(ctx context.Context, t app.Target) error {
	if app.IsRoot(t.Path) {
		return cliargs.Usagef("%s is not moved: it is a directory of the service", t.Path)
	}
	to := m.to.End
	if m.to.IsDir {
		to.Path = to.Path.Join(t.Path.Base())
	}
	if err := m.checkInside(ctx, t, to); err != nil {
		return err
	}
	if yes, err := m.mayReplace(ctx, t, to); err != nil || !yes {
		return err
	}
	err := pfs.E("paddlectl.mv", to.Path, pfs.CrossStore, nil)
	if t.FS == to.FS && !m.again {
		err = m.rename(ctx, t, to.Path)
	}
	if errors.Is(err, pfs.CrossStore) {
		err = m.carry(ctx, t, to)
	}
	if err != nil {
		return m.hint(ctx, t, to, err)
	}
	m.Done(m.App, app.EventJSON{Event: "moved", Path: string(t.Path), Target: string(to.Path)}, fmt.Sprintf("%s -> %s", t.Path, to.Path))
	return nil
}

// mayReplace asks about an existing file at the new name, with --interactive.
func (m *mover) mayReplace(ctx context.Context, t app.Target, to transfer.End) (bool, error) {
	if !m.asking.Interactive || m.again || t.FS == to.FS && t.Path == to.Path {
		return true, nil
	}
	switch there, err := to.FS.Stat(ctx, to.Path); {
	case app.IsMissing(err):
		return true, nil
	case err != nil:
		return false, err
	case there.IsDir():
		return true, nil // which is refused, or empty
	}
	return m.asking.May(ctx, m.App, "replace", to.Path)
}

// checkInside refuses to move a directory into itself, in the user's words.
func (m *mover) checkInside(ctx context.Context, t app.Target, to transfer.End) error {
	if t.FS != to.FS || t.Path == to.Path || !to.Path.Within(t.Path) {
		return nil
	}
	info, err := t.Stat(ctx)
	if err == nil && info.IsDir() {
		err = pfs.Errorf("paddlectl.mv", to.Path, pfs.Invalid, "it is inside the source %s: choose a target outside", t.Path)
	}
	return err
}

// hint adds a hint if the parent of the new name is missing.
func (m *mover) hint(ctx context.Context, t app.Target, to transfer.End, err error) error {
	if !errors.Is(err, pfs.NotExist) {
		return err
	}
	if _, serr := t.FS.Stat(ctx, t.Path); serr != nil {
		return err
	}
	return mkdirHint(ctx, m.App, err, to)
}

func (m *mover) rename(ctx context.Context, t app.Target, to pfs.Path) error {
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if m.noClobber {
		err = pfs.RenameExclusive(ctx, t.FS, t.Path, to)
	} else {
		err = t.FS.Rename(ctx, t.Path, to)
	}
	if err != nil && renamedBefore(ctx, t, to, info) {
		return nil
	}
	return err
}

// renamedBefore reports whether the entry that info describes moved from t to to already: a
// service that was killed before it could answer had renamed it.
func renamedBefore(ctx context.Context, t app.Target, to pfs.Path, info pfs.Info) bool {
	if _, err := t.FS.Stat(ctx, t.Path); !app.IsMissing(err) {
		return false
	}
	there, err := t.FS.Stat(ctx, to)
	return err == nil && there.Mode == info.Mode && there.Size == info.Size && there.Target == info.Target &&
		there.ModTime.Equal(info.ModTime) && there.Digest == info.Digest
}

// carry copies t to another store and then removes it.
func (m *mover) carry(ctx context.Context, t app.Target, to transfer.End) error {
	info, err := t.Stat(ctx)
	switch {
	case m.again && app.IsMissing(err):
		return m.end(ctx, to) // it was removed already
	case err != nil:
		return err
	}
	if err := m.checkTarget(ctx, info, to); err != nil {
		return err
	}
	if !info.IsDir() || m.to.IsDir {
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

// checkTarget refuses a target that carry may not replace, before anything is created.
func (m *mover) checkTarget(ctx context.Context, info pfs.Info, to transfer.End) error {
	if m.again {
		return nil
	}
	switch there, err := to.FS.Stat(ctx, to.Path); {
	case app.IsMissing(err):
		return nil
	case err != nil:
		return err
	case m.noClobber:
		return pfs.E("paddlectl.mv", to.Path, pfs.Exist, nil)
	case info.IsDir() && !there.IsDir():
		return pfs.E("paddlectl.mv", to.Path, pfs.NotDir, nil)
	}
	return nil
}

// copyAndRemove is carry for entries that appear at the new name only when complete.
func (m *mover) copyAndRemove(ctx context.Context, t app.Target, to transfer.End) error {
	o := copying.SimpleCopy()
	o.Links, o.NoClobber = true, m.noClobber
	c := &copying.Copier{App: m.App, O: o, To: m.to, Tops: map[pfs.Path]string{to.Path: string(t.Path)}}
	err := copying.Run(ctx, m.App, o, c, func(ctx context.Context, job *transfer.Job) error {
		return job.Copy(ctx, t.End(), to)
	})
	if err != nil {
		return err
	}
	return m.removeCopied(ctx, t, to)
}

// removeCopied removes the source entries whose copies are identical. It keeps and reports entries
// that appeared or changed after the copy.
func (m *mover) removeCopied(ctx context.Context, t app.Target, to transfer.End) error {
	info, err := t.FS.Stat(ctx, t.Path)
	if err != nil {
		return err
	}
	return m.removeEntry(ctx, t.End(), to, info)
}

func (m *mover) removeEntry(ctx context.Context, from, to transfer.End, info pfs.Info) error {
	if !info.IsDir() {
		return m.removeFile(ctx, from, to, info)
	}
	kept := cliio.NewTally(m.ReportFailure)
	// Removing yielded entries does not disturb the listing.
	for e, err := range pfs.Entries(ctx, from.FS, from.Path, nil) {
		if err != nil {
			return err
		}
		err = m.removeEntry(ctx,
			transfer.End{FS: from.FS, Path: from.Path.Join(e.Name)}, transfer.End{FS: to.FS, Path: to.Path.Join(e.Name)}, e)
		kept.Add(err)
		if app.HopelessIn(ctx, from.Path, err) {
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
		return pfs.Errorf("paddlectl.mv", from.Path, pfs.Conflict, "not removed: %s does not exist; run the same command again to copy it", to.Path)
	}
	if err != nil {
		return err
	}
	same := there.Mode.Type() == info.Mode.Type() && there.Size == info.Size && there.Target == info.Target &&
		(info.IsLink() || transfer.KeptAs(there.ModTime, info.ModTime))
	if !same {
		return pfs.Errorf("paddlectl.mv", from.Path, pfs.Conflict, "not removed: it now differs from %s", to.Path)
	}
	return from.FS.Remove(ctx, from.Path)
}

// movingName is a file in a directory that an unfinished move between stores made. It holds the
// source of the move. Without it, the same command run again would move the source into the
// directory.
const movingName = ".paddlectl-moving"

// longestPath bounds that file.
const longestPath = 64 << 10

// unfinished returns the source of the unfinished move that made the directory dir, or "".
func unfinished(ctx context.Context, dir transfer.End) (pfs.Path, error) {
	text, err := recordfile.ReadSmall(ctx, dir.FS, dir.Path.Join(movingName), longestPath)
	if app.IsMissing(err) || errors.Is(err, pfs.NotDir) {
		return "", nil
	}
	return pfs.Path(strings.TrimSuffix(string(text), "\n")), err
}

// goOn finds out whether DEST exists because the same move was interrupted.
func (m *mover) goOn(ctx context.Context, from app.Operand) error {
	if !m.to.IsDir || m.to.Many || m.to.Slash {
		return nil
	}
	source, err := unfinished(ctx, m.to.End)
	if err == nil && source == from.Path {
		m.to.IsDir, m.again = false, true
	}
	return err
}

// begin makes the directory that t becomes on another store. If it is interrupted, the next begin
// completes its work.
func (m *mover) begin(ctx context.Context, t app.Target, to transfer.End) error {
	switch source, err := unfinished(ctx, t.End()); {
	case err != nil:
		return err
	case source != "":
		return app.WithHint(pfs.Errorf("paddlectl.mv", t.Path, pfs.Conflict, "an unfinished move of %s made it", source), m.Program+" mv "+app.ShellWord(string(source))+" "+app.ShellWord(string(t.Path))+" finishes the move")
	}
	if m.again {
		return nil
	}
	// The directory gets its name after its movingName file.
	dir := to.Path.Parent().Join(movingName + "-" + to.Path.Base())
	if err := to.FS.Mkdir(ctx, dir, 0o755); err != nil {
		return pfs.E("paddlectl.mv", to.Path, pfs.KindOf(err), err)
	}
	mark := pfs.BatchEntry{Path: dir.Join(movingName), Mode: 0o644, Data: []byte(t.Path + "\n")}
	if err := pfs.WriteBatch(ctx, to.FS, []pfs.BatchEntry{mark})[0]; err != nil {
		return err
	}
	return to.FS.Rename(ctx, dir, to.Path)
}

// end removes the movingName file, once nothing of the source is left.
func (m *mover) end(ctx context.Context, to transfer.End) error {
	err := to.FS.Remove(ctx, to.Path.Join(movingName))
	if app.IsMissing(err) {
		return nil
	}
	return err
}
