package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

func (d *deps) cpCommand() *cli.Command {
	o := &copyOptions{}
	return d.command(spec{
		name: "cp", args: "SRC... DEST", least: 2, most: -1,
		summary: "upload or download files",
		text: `Copies files and, with --recursive, directories: to the service, from it, inside
it, and from one datacenter to another. Paths that begin with /pfs/ are on the
service, all others on this machine; "-" is standard input or output.

  - A file becomes DEST, or DEST/NAME if DEST is a directory or ends in a slash.
  - SRC/, a directory with a slash at the end: what is in it goes into DEST.
  - SRC, a directory without one, becomes DEST/NAME, whether DEST exists or not.

Several sources, and quoted patterns, need a DEST that is a directory or ends in a
slash. A DEST that ends in a slash is made with all its missing parents, but no home is
made. Of another DEST only the last element is made.

Every byte is verified. A file that is at its target already, with the same digest,
is not copied again. A copy that was interrupted goes on where it was if the same
command is run again. A file appears at its target when it is whole.`,
		examples: []string{
			"paddlectl cp model.bin /pfs/dc1/home/alice/",
			"paddlectl cp -r ./data/ /pfs/dc1/home/alice/sets/data/",
			"paddlectl cp -r '/pfs/dc1/home/alice/out/*' ./results/",
			"tar c . | paddlectl cp - /pfs/dc1/home/alice/backup.tar",
		},
		exits: pathExits(cliio.Integrity),
		flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r", "R"}, Usage: "copy directories with all that is in them", Destination: &o.recursive},
			o.asking.forceFlag("replace files that exist (the default)"),
			o.asking.interactiveFlag("ask before a file is replaced by another"),
		}, o.flags()...),
		run: func(ctx context.Context, operands []string) error { return d.summed(o, runCp(ctx, d, o, operands)) },
	})
}

func runCp(ctx context.Context, d *deps, o *copyOptions, operands []string) error {
	ops, err := d.begin(o, operands)
	if err == nil {
		err = o.asking.check(o.noClobber)
	}
	if err != nil {
		return err
	}
	from, to := ops[:len(ops)-1], ops[len(ops)-1]
	fromInput := slices.ContainsFunc(from, func(op operand) bool { return op.side == stdio })
	switch {
	case fromInput && to.side == stdio:
		return cliargs.Usagef("\"-\" as SRC and as DEST would copy standard input to standard output: one of them must be a file")
	case fromInput && len(from) > 1:
		return cliargs.Usagef("\"-\" must be the only SRC: standard input cannot be copied together with files")
	case fromInput && o.asking.interactive:
		return cliargs.Usagef("--interactive reads answers from standard input, which is SRC here")
	case fromInput:
		return d.fromInput(ctx, o, to)
	case to.side == stdio:
		return d.toOutput(ctx, o, from)
	}
	return d.copyAll(ctx, o, from, to)
}

// begin checks the options of a copy and reads its operands.
func (d *deps) begin(o *copyOptions, texts []string) ([]operand, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d.remotes.retries = o.tries()
	return d.operands(texts)
}

// operands reads the operands of a copy.
func (d *deps) operands(texts []string) ([]operand, error) {
	var list []operand
	for _, text := range texts {
		o, err := d.parseOperand(text)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// copyAll copies files and trees.
func (d *deps) copyAll(ctx context.Context, o *copyOptions, from []operand, to operand) error {
	anyRemote := to.side == remote
	for _, op := range from {
		anyRemote = anyRemote || op.side == remote
	}
	if !anyRemote {
		return cliargs.Usagef("all paths are of this machine: those of the service begin with /pfs/%s", d.didYouMeanInHome(to.text))
	}
	many, err := d.isMany(ctx, from)
	if err != nil {
		return err
	}
	t, err := d.target(ctx, to, many)
	if err == nil {
		err = t.checkMany()
	}
	if err != nil {
		return err
	}
	o.parents = o.parents || t.slash
	c := &copier{d: d, o: o, to: t, tops: map[pfs.Path]string{}}
	if err := c.checkSources(ctx, from); err != nil {
		return c.hint(ctx, err)
	}
	if err := c.makeTarget(ctx); err != nil {
		return c.hint(ctx, err)
	}
	return d.transfer(ctx, o, c, func(ctx context.Context, job *transfer.Job) error {
		return c.hint(ctx, job.CopyAll(ctx, c.pairs(ctx, from)))
	})
}

// copier is one copy of files and trees.
type copier struct {
	d    *deps
	o    *copyOptions
	to   copyTarget
	tops map[pfs.Path]string // what the plain operands become, and which they are

	makesTarget bool
	rehearsal   transfer.Rehearsal // of a dry run
}

// targetFS returns fsys, or in a dry run one that only checks what would be done.
func (c *copier) targetFS(fsys pfs.FileSystem) pfs.FileSystem {
	if !c.o.dryRun {
		return fsys
	}
	return c.rehearsal.FS(fsys)
}

// checkSources looks at all operands that are no patterns, so that a mistake in
// one is found before anything is copied.
func (c *copier) checkSources(ctx context.Context, from []operand) error {
	for _, op := range from {
		pattern, err := c.d.isPattern(ctx, op)
		if err != nil {
			return err
		}
		if pattern {
			c.makesTarget = c.makesTarget || !c.to.exists && c.to.slash
			continue
		}
		for s, err := range c.d.sources(ctx, []operand{op}, c.o) {
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

func (c *copier) check(s copySource) error {
	p, err := c.to.destination(s)
	if err != nil {
		return err
	}
	if s.isDir && s.end.FS == c.to.end.FS && p.Within(s.end.Path) {
		return pfs.Errorf("paddlectl.cp", p, pfs.Invalid, "it is inside the source %s: choose a target outside", s.end.Path)
	}
	c.makesTarget = c.makesTarget || c.to.makesDir(s)
	if s.isDir && s.contents {
		return nil // several may be merged
	}
	if other, twice := c.tops[p]; twice {
		return cliargs.Usagef("%s and %s would both become %s", other, s.text, p)
	}
	c.tops[p] = s.text
	return nil
}

// makeTarget makes DEST where it has to be a directory.
func (c *copier) makeTarget(ctx context.Context) error {
	if !c.makesTarget {
		return nil
	}
	var err error
	fsys := c.targetFS(c.to.end.FS)
	if c.o.parents {
		err = pfs.MkdirAll(ctx, fsys, c.to.end.Path, 0o755)
	} else {
		err = fsys.Mkdir(ctx, c.to.end.Path, 0o755)
	}
	if err == nil {
		t := &transferring{d: c.d, o: c.o, c: c}
		t.event(ctx, transfer.Event{Kind: transfer.Directory, Target: c.to.end.Path, IsDir: true})
	}
	return err
}

// hint adds the way out to an error that says that DEST has no parent, that a
// directory is where a link should be, or that there can be no links.
func (c *copier) hint(ctx context.Context, err error) error {
	var e *pfs.Error
	if c.o.links && errors.As(err, &e) && e.Kind == pfs.IsDir {
		return hinted{err, "an earlier copy without --links follows links and makes directories; " + c.how("rm -r", e.Path) + " removes this one"}
	}
	if c.o.links && errors.As(err, &e) && e.Kind == pfs.Unsupported {
		return hinted{err, "--skip-links leaves links out; without --links what they lead to is copied"}
	}
	if refused := (*transfer.DeleteError)(nil); errors.As(err, &refused) {
		return hinted{err, deleteHint(refused)}
	}
	return parentHint(ctx, err, c.to.end, c.how("mkdir -p", c.to.end.Path.Parent()))
}

// how is the command for something at the target, here or on the service.
func (c *copier) how(command string, p pfs.Path) string {
	line := command + " " + shellWord(localText(p))
	if p.Within(top) {
		line = c.d.out.Program + " " + line
	}
	return line
}

// pairs yields the copies to make.
func (c *copier) pairs(ctx context.Context, from []operand) iter.Seq2[transfer.Pair, error] {
	to := c.d.remotes.once(c.to.end)
	to.FS = c.targetFS(to.FS)
	return func(yield func(transfer.Pair, error) bool) {
		for s, err := range c.d.sources(ctx, from, c.o) {
			p := transfer.Pair{Source: c.d.remotes.once(s.end), Target: to}
			if err == nil {
				p.Target.Path, err = c.to.destination(s)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// toOutput writes files to standard output.
func (d *deps) toOutput(ctx context.Context, o *copyOptions, from []operand) error {
	if o.json || o.dryRun {
		return cliargs.Usagef("--json and --dry-run have no place beside the file on standard output")
	}
	return d.transfer(ctx, o, nil, func(ctx context.Context, job *transfer.Job) error {
		for s, err := range d.sources(ctx, from, o) {
			if err != nil {
				return err
			}
			if _, err := job.ToWriter(ctx, d.remotes.once(s.end), d.out.Out, 0, -1); err != nil {
				return err
			}
		}
		return nil
	})
}

// fromInput writes standard input to a file.
func (d *deps) fromInput(ctx context.Context, o *copyOptions, to operand) error {
	t, err := d.target(ctx, to, false)
	switch {
	case err != nil:
		return err
	case o.dryRun:
		return cliargs.Usagef("--dry-run cannot tell what standard input holds")
	case t.isDir || t.slash:
		return cliargs.Usagef("%q is a directory: standard input has no name, so DEST must be that of a file", to.text)
	}
	c := &copier{d: d, o: o, to: t}
	return d.transfer(ctx, o, c, func(ctx context.Context, job *transfer.Job) error {
		_, err := job.FromReader(ctx, d.remotes.once(t.end), d.main.Stdin, pfs.CommitOptions{NoReplace: o.noClobber})
		return c.hint(ctx, err)
	})
}
