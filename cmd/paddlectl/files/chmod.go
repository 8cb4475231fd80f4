package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Chmod returns the command chmod.
func Chmod(a *app.App) *cli.Command {
	c := &chmod{App: a}
	return a.NewCommand(app.Spec{
		Name: "chmod", Args: "MODE PATH...", Least: 2, Most: -1,
		Summary: "change the permission bits of files",
		Text: `Sets the permission bits of files and directories. MODE is octal, like 640, or symbolic
with the letters ugoa, + - = and rwxX, like u+rwX,go-w or g=u. X adds x to directories
and to files that have an x. Without any of ugoa, group and others get no w. A MODE that
begins with - needs "--" before it, or an a: a-w.

A link that is named is followed; links below a directory are left alone. The service
decides by paths and accounts who may do what, not by these bits. They count in mapped
directories that keep the store's permissions and for other programs that use the store,
and copies keep them.`,
		Examples: []string{
			"paddlectl chmod +x /pfs/dc1/home/alice/run.sh",
			"paddlectl chmod -R u=rwX,go=rX /pfs/dc1/public/dataset/mnist",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"R"}, Usage: "also change all that is in directories", Destination: &c.recursive},
			c.VerboseFlag("print each path that was changed, after its mode"), c.JSONFlag(),
		},
		Run: func(ctx context.Context, operands []string) (err error) {
			c.Begin(a)
			if c.change, err = parseMode(operands[0]); err != nil {
				return err
			}
			return a.EachTarget(ctx, operands[1:], func(t app.Target) error { return c.target(ctx, t) })
		},
	})
}

// chmod is one run of the command.
type chmod struct {
	*app.App
	app.ChangeOptions
	recursive bool

	change modeChange
	below  *cliio.Tally // of a directory, with all that is in it
}

func (c *chmod) target(ctx context.Context, t app.Target) error {
	end, info, err := t.End().Follow(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() || !c.recursive {
		return c.set(ctx, end.FS, end.Path, info)
	}
	c.below = cliio.NewTally(c.ReportFailure)
	c.below.Add(c.tree(ctx, end.FS, end.Path, info))
	return c.below.Err()
}

// tree changes dir and all below it, dir itself first unless its new mode closes it to its owner.
// If both the change and the listing of dir fail, tree reports one failure.
func (c *chmod) tree(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, info pfs.Info) (err error) {
	const needed = 0o500
	closes := info.Mode&^c.change(info)&needed != 0
	if !closes {
		err = c.set(ctx, fsys, dir, info)
	}
	if lerr := c.entries(ctx, fsys, dir); err == nil || app.HopelessIn(ctx, dir, lerr) {
		err = lerr
	}
	if !closes || app.HopelessIn(ctx, dir, err) {
		return err
	}
	if serr := c.set(ctx, fsys, dir, info); err == nil {
		err = serr
	}
	return err
}

// entries changes the entries of dir. It names those that fail, and changes the rest.
func (c *chmod) entries(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	for e, err := range pfs.Entries(ctx, fsys, dir, func(quoted string) {
		c.below.Add(pfs.Errorf("paddlectl.chmod", dir, pfs.Invalid, "entry %s cannot be named here", quoted))
	}) {
		if err != nil {
			return err
		}
		switch name := dir.Join(e.Name); {
		case e.IsDir():
			err = c.tree(ctx, fsys, name, e)
		case !e.IsLink():
			err = c.set(ctx, fsys, name, e)
		}
		if app.HopelessIn(ctx, dir, err) {
			return err
		}
		if !errors.Is(err, pfs.NotExist) { // gone in the meantime
			c.below.Add(err)
		}
	}
	return nil
}

// set changes the mode of an entry.
func (c *chmod) set(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, info pfs.Info) error {
	mode := c.change(info)
	err := pfs.SetAttr(ctx, fsys, name, pfs.AttrMode, pfs.Attrs{Mode: mode})
	if errors.Is(err, pfs.Unsupported) {
		err = pfs.Errorf("paddlectl.chmod", name, pfs.Unsupported, "permission bits that can be changed")
	}
	if err == nil {
		c.Done(c.App, app.EventJSON{Event: "changed", Path: string(name), Mode: app.Octal(mode)}, app.Octal(mode)+" "+string(name))
	}
	return err
}

// modeChange returns the new permission bits of an entry.
type modeChange func(info pfs.Info) fs.FileMode

// usualMask is the umask for modes that name no class, such as "+w". The service has no umask;
// this is the usual one.
const usualMask fs.FileMode = 0o022

// modeClasses are the bits of the classes user, group, others and all.
var modeClasses = map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}

// parseMode reads an octal or a symbolic mode, such as "u+rwX,go-w".
func parseMode(text string) (modeChange, error) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		bits, err := strconv.ParseUint(text, 8, 32)
		if err != nil || bits > 0o777 {
			return nil, cliargs.Usagef("mode %s: an octal number up to 777 is needed", text)
		}
		return func(pfs.Info) fs.FileMode { return fs.FileMode(bits) }, nil
	}
	var steps []modeStep
	for clause := range strings.SplitSeq(text, ",") {
		more, err := parseClause(clause)
		if err != nil {
			return nil, cliargs.Usagef("mode %q: %v", text, err)
		}
		steps = append(steps, more...)
	}
	return func(info pfs.Info) fs.FileMode {
		bits := info.Mode.Perm()
		for _, s := range steps {
			bits = s.apply(bits, info.IsDir())
		}
		return bits
	}, nil
}

// modeStep is one operator of a symbolic mode, with its permissions.
type modeStep struct {
	who   fs.FileMode // classes that it changes
	mask  fs.FileMode // bits of them that may be given or taken
	op    byte        // one of + - =
	bits  fs.FileMode // of all three classes
	ifAny bool        // X: x for directories, and for files that have an x
	from  fs.FileMode // class whose bits are copied, as in g=u; 0 is none
}

// parseClause reads "u+rwX" or "go=r-x": classes, then one or more operators.
func parseClause(clause string) ([]modeStep, error) {
	at := strings.IndexAny(clause, "+-=")
	if at < 0 {
		return nil, fmt.Errorf("write it as 755, u+rwX or go-w")
	}
	var who fs.FileMode
	for _, class := range clause[:at] {
		bits, ok := modeClasses[class]
		if !ok {
			return nil, fmt.Errorf("%q is not one of u, g, o and a", class)
		}
		who |= bits
	}
	step := modeStep{who: who, mask: who}
	if who == 0 {
		step.who, step.mask = 0o777, 0o777&^usualMask
	}
	var steps []modeStep
	for rest := clause[at:]; rest != ""; {
		s := step
		s.op = rest[0]
		end := strings.IndexAny(rest[1:], "+-=") + 1
		if end == 0 {
			end = len(rest)
		}
		if err := s.permissions(rest[1:end]); err != nil {
			return nil, err
		}
		steps = append(steps, s)
		rest = rest[end:]
	}
	return steps, nil
}

// permissions reads the letters after an operator.
func (s *modeStep) permissions(letters string) error {
	if class, ok := modeClasses[rune((letters + " ")[0])]; ok && len(letters) == 1 && letters != "a" {
		s.from = class
		return nil
	}
	for _, letter := range letters {
		switch letter {
		case 'r':
			s.bits |= 0o444
		case 'w':
			s.bits |= 0o222
		case 'x':
			s.bits |= 0o111
		case 'X':
			s.ifAny = true
		default:
			return fmt.Errorf("%q is not one of r, w, x and X", letter)
		}
	}
	return nil
}

// apply returns old as changed by the step.
func (s modeStep) apply(old fs.FileMode, isDir bool) fs.FileMode {
	bits := s.bits
	if s.from != 0 {
		class := old & s.from // in one of the three places
		class |= class>>3 | class>>6 | class<<3 | class<<6
		bits = class & 0o777
	}
	if s.ifAny && (isDir || old&0o111 != 0) {
		bits |= 0o111
	}
	bits &= s.mask
	switch s.op {
	case '+':
		return old | bits
	case '-':
		return old &^ bits
	}
	return old&^s.who | bits
}
