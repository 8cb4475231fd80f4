package copying

import (
	"context"
	"errors"
	"iter"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Begin checks the options of a copy and reads its operands.
func Begin(a *app.App, o *Options, texts []string) ([]app.Operand, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return a.Operands(texts)
}

// CopyAll copies files and trees.
func CopyAll(ctx context.Context, a *app.App, o *Options, from []app.Operand, to app.Operand) error {
	anyRemote := to.Side == app.Remote
	for _, op := range from {
		anyRemote = anyRemote || op.Side == app.Remote
	}
	if !anyRemote {
		return cliargs.Usagef("all paths are local: paths of the service begin with /pfs/%s", a.DidYouMeanInHome(to.Text))
	}
	many, err := a.IsMany(ctx, from)
	if err != nil {
		return err
	}
	t, err := LookAt(ctx, a, to, many)
	if err == nil {
		err = t.checkMany()
	}
	if err != nil {
		return err
	}
	o.Parents = o.Parents || t.Slash
	c := &Copier{App: a, O: o, To: t, Tops: map[pfs.Path]string{}}
	if err := c.checkSources(ctx, from); err != nil {
		return c.Hint(ctx, err)
	}
	if err := c.makeTarget(ctx); err != nil {
		return c.Hint(ctx, err)
	}
	return Run(ctx, a, o, c, func(ctx context.Context, job *transfer.Job) error {
		return c.Hint(ctx, job.CopyAll(ctx, c.pairs(ctx, from)))
	})
}

// Copier is one copy of files and trees.
type Copier struct {
	App  *app.App
	O    *Options
	To   Target
	Tops map[pfs.Path]string // targets of the plain operands, with the operands

	makesTarget bool
	rehearsal   transfer.Rehearsal // of a dry run
}

// targetFS returns fsys, or in a dry run a file system that only checks the operations.
func (c *Copier) targetFS(fsys pfs.FileSystem) pfs.FileSystem {
	if !c.O.DryRun {
		return fsys
	}
	return c.rehearsal.FS(fsys)
}

// checkSources checks all operands that are not patterns, so that a mistake in one is found before
// anything is copied.
func (c *Copier) checkSources(ctx context.Context, from []app.Operand) error {
	for _, op := range from {
		pattern, err := c.App.IsPattern(ctx, op)
		if err != nil {
			return err
		}
		if pattern {
			c.makesTarget = c.makesTarget || !c.To.Exists && c.To.Slash
			continue
		}
		for s, err := range Sources(ctx, c.App, []app.Operand{op}, c.O) {
			if err != nil && len(from) > 1 && !errors.Is(err, pfs.Invalid) {
				break // the others can be copied
			}
			if err == nil {
				err = c.check(s)
			}
			if err != nil {
				return err
			}
		}
	}
	return c.checkPatterns(ctx, from)
}

func (c *Copier) check(s Source) error {
	p, err := c.To.destination(s)
	if err != nil {
		return err
	}
	if s.isDir && s.End.FS == c.To.End.FS && p.Within(s.End.Path) {
		return pfs.Errorf("paddlectl.cp", p, pfs.Invalid, "it is inside the source %s: choose a target outside", s.End.Path)
	}
	c.makesTarget = c.makesTarget || c.To.makesDir(s)
	if s.isDir && s.contents {
		return nil // several may be merged
	}
	if other, twice := c.Tops[p]; twice {
		return cliargs.Usagef("%s and %s would both become %s", other, s.text, p)
	}
	c.Tops[p] = s.text
	return nil
}

// makeTarget creates DEST if it must be a directory.
func (c *Copier) makeTarget(ctx context.Context) error {
	if !c.makesTarget {
		return nil
	}
	var err error
	fsys := c.targetFS(c.To.End.FS)
	if c.O.Parents {
		err = pfs.MkdirAll(ctx, fsys, c.To.End.Path, 0o755)
	} else {
		err = fsys.Mkdir(ctx, c.To.End.Path, 0o755)
	}
	if err == nil {
		t := &Transferring{App: c.App, O: c.O, c: c}
		t.event(ctx, transfer.Event{Kind: transfer.Directory, Target: c.To.End.Path, IsDir: true})
	}
	return err
}

// Hint adds a hint to an error that means that DEST has no parent, that a directory is where a link
// should be, or that links are not possible.
func (c *Copier) Hint(ctx context.Context, err error) error {
	var e *pfs.Error
	if c.O.Links && errors.As(err, &e) && e.Kind == pfs.IsDir {
		return app.WithHint(err, "an earlier copy without --links follows links and makes directories; "+c.how("rm -r", e.Path)+" removes this one")
	}
	if c.O.Links && errors.As(err, &e) && e.Kind == pfs.Unsupported {
		return app.WithHint(err, "--skip-links leaves links out; without --links their targets are copied")
	}
	if refused := (*transfer.DeleteError)(nil); errors.As(err, &refused) {
		return app.WithHint(err, deleteHint(refused))
	}
	return app.ParentHint(ctx, err, c.To.End, c.how("mkdir -p", c.To.End.Path.Parent()))
}

// how returns the command line that runs command on a path of the target, local or on the service.
func (c *Copier) how(command string, p pfs.Path) string {
	line := command + " " + app.ShellWord(app.LocalText(p))
	if p.Within(app.Top) {
		line = c.App.Program + " " + line
	}
	return line
}

// pairs yields the copies to make.
func (c *Copier) pairs(ctx context.Context, from []app.Operand) iter.Seq2[transfer.Pair, error] {
	to := c.To.End
	to.FS = c.targetFS(to.FS)
	return func(yield func(transfer.Pair, error) bool) {
		for s, err := range Sources(ctx, c.App, from, c.O) {
			p := transfer.Pair{Source: s.End, Target: to}
			if err == nil {
				p.Target.Path, err = c.To.destination(s)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// deleteHint returns the hint for the refusal e.
func deleteHint(e *transfer.DeleteError) string {
	if e.Max < 0 {
		return "is the disk of SRC mounted? --force continues anyway"
	}
	return "--dry-run without --max-delete lists them"
}
