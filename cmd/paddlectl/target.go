package main

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// target is one path on a service that an operand names.
type target struct {
	fs       pfs.FileSystem
	path     pfs.Path
	contents bool // a slash stood at the end
	matched  *pfs.Info
}

// stat describes the target itself.
func (t target) stat(ctx context.Context) (pfs.Info, error) {
	if t.matched != nil {
		return *t.matched, nil
	}
	return t.fs.Stat(ctx, t.path)
}

// expander calls a function for each path that an operand names.
type expander func(ctx context.Context, o operand, fn func(target) error) error

// named calls fn for the path of o as it was typed.
func (d *deps) named(ctx context.Context, o operand, fn func(target) error) error {
	conn, err := d.remotes.at(ctx, o.path)
	if err != nil {
		return err
	}
	return fn(target{fs: conn.fs, path: o.path, contents: o.contents})
}

// expand calls fn for each path that o names: the one, or all that its pattern
// matches. No match is an error of Kind NotExist.
func (d *deps) expand(ctx context.Context, o operand, fn func(target) error) error {
	pattern, err := d.isPattern(ctx, o)
	if err != nil {
		return err
	}
	if !pattern {
		return d.named(ctx, o, fn)
	}
	return d.named(ctx, o, func(t target) error { return d.matches(ctx, t, fn) })
}

// matches calls fn for each path that the pattern t.path matches, sorted.
func (d *deps) matches(ctx context.Context, t target, fn func(target) error) error {
	found, err := globSorted(ctx, t.fs, string(t.path), func(info pfs.Info) error {
		m := target{fs: t.fs, path: pfs.Path(info.Name), contents: t.contents}
		info.Name = m.path.Base()
		m.matched = &info
		return fn(m)
	})
	if err == nil && !found {
		err = pfs.Errorf("paddlectl.expand", t.path, pfs.NotExist, "nothing matches")
	}
	return err
}

// errStop ends the work on further targets: the reason was reported.
var errStop = errors.New("stop")

// eachTarget calls fn for every path that the operands name, and goes on after an
// error, but not with a datacenter whose store does not answer. The result says what
// became of them all.
func (d *deps) eachTarget(ctx context.Context, operands []string, fn func(target) error) error {
	return d.each(ctx, operands, d.expand, fn)
}

// eachNamed is eachTarget for what is to be made: no operand is a pattern.
func (d *deps) eachNamed(ctx context.Context, operands []string, fn func(target) error) error {
	return d.each(ctx, operands, d.named, fn)
}

// eachContent is eachTarget for what reads files: the bytes of one may be where no server
// answers, and those of the next not.
func (d *deps) eachContent(ctx context.Context, operands []string, fn func(target) error) error {
	list, err := d.remoteOperands(operands)
	if err != nil {
		return err
	}
	return d.eachOperand(ctx, list, d.expand, nil, fn)
}

func (d *deps) each(ctx context.Context, operands []string, expand expander, fn func(target) error) error {
	list, err := d.remoteOperands(operands)
	if err != nil {
		return err
	}
	silent := &silence{}
	defer silent.tell(d.out)
	return d.eachOperand(ctx, list, expand, silent, fn)
}

func (d *deps) eachOperand(ctx context.Context, list []operand, expand expander, silent *silence, fn func(target) error) error {
	if len(list) == 1 && !pfs.HasMagic(string(list[0].path)) {
		return expand(ctx, list[0], fn)
	}
	tally := cliio.NewTally(d.reportFailure)
	for _, o := range list {
		err := silent.unless(o.path, func() error {
			return expand(ctx, o, func(t target) error {
				err := silent.unless(t.path, func() error { return fn(t) })
				tally.Add(err)
				if hopeless(ctx, err) {
					return errStop
				}
				return nil
			})
		})
		if err == errStop {
			break
		}
		if err != nil {
			tally.Add(err)
		}
		if hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}

// hopeless reports whether every further target would fail as this one did.
func hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, pfs.Unauthenticated)
}

// hopelessIn is hopeless of what is left in the directory dir. A store that does not
// answer was asked for as long as there is patience; above the stores there are others.
func hopelessIn(ctx context.Context, dir pfs.Path, err error) bool {
	return hopeless(ctx, err) || datacenter(dir) != "" && errors.Is(err, pfs.Unavailable)
}

// reportFailure reports the failure of one of several targets. That of an
// interrupted command needs no explanation.
func (d *deps) reportFailure(err error) {
	if d.stopped.Load() && pfs.KindOf(err) == pfs.Canceled {
		return
	}
	d.report(err)
}
