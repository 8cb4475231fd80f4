package app

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Target is one path on a service that an operand names.
type Target struct {
	FS       pfs.FileSystem
	Path     pfs.Path
	Contents bool // the operand ends in a slash
	Matched  *pfs.Info
}

// Stat returns the Info of the target; it does not follow a link.
func (t Target) Stat(ctx context.Context) (pfs.Info, error) {
	if t.Matched != nil {
		return *t.Matched, nil
	}
	return t.FS.Stat(ctx, t.Path)
}

// Expander calls a function for each path that an operand names.
type Expander func(ctx context.Context, o Operand, fn func(Target) error) error

// Named calls fn for the path of o, even if it looks like a pattern.
func (a *App) Named(ctx context.Context, o Operand, fn func(Target) error) error {
	conn, err := a.Remotes.At(ctx, o.Path)
	if err != nil {
		return err
	}
	return fn(Target{FS: conn.FS, Path: o.Path, Contents: o.Contents})
}

// Expand calls fn for the path of o, or for each match if o is a pattern. No match is a NotExist
// error.
func (a *App) Expand(ctx context.Context, o Operand, fn func(Target) error) error {
	pattern, err := a.IsPattern(ctx, o)
	if err != nil {
		return err
	}
	if !pattern {
		return a.Named(ctx, o, fn)
	}
	return a.Named(ctx, o, func(t Target) error { return a.matches(ctx, t, fn) })
}

// matches calls fn for each match of the pattern t.Path, sorted.
func (a *App) matches(ctx context.Context, t Target, fn func(Target) error) error {
	found, err := globSorted(ctx, t.FS, string(t.Path), func(info pfs.Info) error {
		m := Target{FS: t.FS, Path: pfs.Path(info.Name), Contents: t.Contents}
		info.Name = m.Path.Base()
		m.Matched = &info
		return fn(m)
	})
	if err == nil && !found {
		err = pfs.Errorf("app.expand", t.Path, pfs.NotExist, "nothing matches")
	}
	return err
}

// ErrStop ends the work on further targets. Its cause has been reported.
var ErrStop = errors.New("stop")

// EachTarget calls fn for every path that the operands name, and for the user's home if there
// is no operand. It continues after an error, but not with a datacenter whose store does not
// answer. The result covers all of them.
func (a *App) EachTarget(ctx context.Context, operands []string, fn func(Target) error) error {
	if len(operands) == 0 {
		home, err := a.Home(ctx)
		if err != nil {
			return err
		}
		operands = []string{string(home)}
	}
	return a.Each(ctx, operands, a.Expand, fn)
}

// EachNamed is EachTarget for commands that create entries: operands are never patterns.
func (a *App) EachNamed(ctx context.Context, operands []string, fn func(Target) error) error {
	return a.Each(ctx, operands, a.Named, fn)
}

// EachContent is EachTarget for commands that read files. It continues with the next file of a
// datacenter after one is unavailable: that file's bytes may be on another server.
func (a *App) EachContent(ctx context.Context, operands []string, fn func(Target) error) error {
	list, err := a.RemoteOperands(operands)
	if err != nil {
		return err
	}
	return a.eachOperand(ctx, list, a.Expand, nil, fn)
}

// Each is EachTarget with a given Expander.
func (a *App) Each(ctx context.Context, operands []string, expand Expander, fn func(Target) error) error {
	list, err := a.RemoteOperands(operands)
	if err != nil {
		return err
	}
	down := &DownDatacenters{}
	defer down.Tell(a.Printer)
	return a.eachOperand(ctx, list, expand, down, fn)
}

func (a *App) eachOperand(ctx context.Context, list []Operand, expand Expander, down *DownDatacenters, fn func(Target) error) error {
	if len(list) == 1 && !pfs.HasMagic(string(list[0].Path)) {
		return expand(ctx, list[0], fn)
	}
	tally := cliio.NewTally(a.ReportFailure)
	for _, o := range list {
		err := down.Unless(o.Path, func() error {
			return expand(ctx, o, func(t Target) error {
				err := down.Unless(t.Path, func() error { return fn(t) })
				tally.Add(err)
				if Hopeless(ctx, err) {
					return ErrStop
				}
				return nil
			})
		})
		if err == ErrStop {
			break
		}
		if err != nil {
			tally.Add(err)
		}
		if Hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}

// Hopeless reports whether every further target would fail as this one did.
func Hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, pfs.Unauthenticated)
}

// HopelessIn reports whether every further entry of the directory dir would fail with err. A
// store that is down has already used up the retries, but above the stores other entries may
// be in other stores.
func HopelessIn(ctx context.Context, dir pfs.Path, err error) bool {
	return Hopeless(ctx, err) || datacenter(dir) != "" && errors.Is(err, pfs.Unavailable)
}

// Walking is the common part of commands that walk a tree and continue after a failure.
type Walking struct {
	*App
	Failed bool // something below could not be read, and was reported
}

// Note reports err, about something in dir. It returns err if the rest of dir would fail as well.
func (w *Walking) Note(ctx context.Context, dir pfs.Path, err error) error {
	if err == nil || HopelessIn(ctx, dir, err) {
		return err
	}
	w.Failed = true
	w.ReportFailure(err)
	return nil
}

// End returns err, or Partly if a failure was reported.
func (w *Walking) End(err error) error {
	if err == nil && w.Failed {
		return cliio.Reported(cliio.Partly)
	}
	return err
}

// ReportFailure reports the failure of one of several targets, unless the command was
// interrupted.
func (a *App) ReportFailure(err error) {
	if a.Stopped.Load() && pfs.KindOf(err) == pfs.Canceled {
		return
	}
	a.report(err)
}

// End returns the target for package transfer.
func (t Target) End() transfer.End { return transfer.End{FS: t.FS, Path: t.Path} }

// EachOf calls fn for each of things and continues after an error.
func EachOf[T any](ctx context.Context, a *App, things []T, fn func(T) error) error {
	if len(things) == 1 {
		return fn(things[0])
	}
	tally := cliio.NewTally(a.ReportFailure)
	for _, one := range things {
		err := fn(one)
		tally.Add(err)
		if Hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}

// StdinText is the name of standard input in messages.
const StdinText = "standard input"

// End returns the file system and path of an operand.
func (a *App) End(ctx context.Context, o Operand) (transfer.End, error) {
	if o.Side == Local {
		return a.Local.End(o.Local)
	}
	conn, err := a.Remotes.At(ctx, o.Path)
	if err != nil {
		return transfer.End{}, err
	}
	return transfer.End{FS: conn.FS, Path: o.Path}, nil
}

// Source calls fn for each path that the operand op names.
func (a *App) Source(ctx context.Context, op Operand, fn func(e transfer.End, text string) error) error {
	if op.Side == Local {
		return a.LocalSource(ctx, op, fn)
	}
	return a.Expand(ctx, op, func(t Target) error { return fn(t.End(), string(t.Path)) })
}

// LocalSource calls fn for the local path op, or for each match if op is a pattern that no shell
// has expanded.
func (a *App) LocalSource(ctx context.Context, op Operand, fn func(e transfer.End, text string) error) error {
	pattern, err := a.IsPattern(ctx, op)
	if err != nil {
		return err
	}
	if pattern {
		return a.localMatches(ctx, op, fn)
	}
	e, err := a.Local.End(op.Local)
	if err != nil {
		return err
	}
	return fn(e, op.Local)
}

// IsMissing reports whether err means that a file does not exist.
func IsMissing(err error) bool { return errors.Is(err, pfs.NotExist) }
