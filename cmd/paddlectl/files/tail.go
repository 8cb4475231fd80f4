package files

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

type tailOptions struct {
	headers
	lines, bytes tailFlag
}

func Tail(a *app.App) *cli.Command {
	o := &tailOptions{lines: tailFlag{parse: parseCount}, bytes: tailFlag{parse: parseBytes}}
	return a.NewCommand(app.Spec{
		Name: "tail", Args: "PATH...", Least: 1, Most: -1,
		Summary: "print the end of files",
		Text: `Prints the last lines, or bytes, of files of the service. Only the end of a file is
read, however large it is. Of several files each stands under its name.`,
		Examples: []string{
			"paddlectl tail -n 100 /pfs/dc1/home/alice/train.log",
			"paddlectl tail -n +2 /pfs/dc1/home/alice/table.csv",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.GenericFlag{Name: "lines", Aliases: []string{"n"}, Usage: "print the last `N` lines; +N: all from line N on", DefaultText: strconv.Itoa(usualLines), Value: &o.lines},
			&cli.GenericFlag{Name: "bytes", Aliases: []string{"c"}, Usage: "print the last `SIZE` bytes instead; +SIZE: all from that byte on", Value: &o.bytes},
			&cliargs.Foreign{Letter: "f", Instead: "tail prints what is there and does not wait for more"},
		}, o.flags()...),
		Run: func(ctx context.Context, operands []string) error {
			if o.lines.given && o.bytes.given {
				return cliargs.Usagef("--lines and --bytes contradict each other")
			}
			return eachOpen(ctx, a, &o.headers, operands, func(in *datafile.Input) error { return o.print(ctx, a.Out, in) })
		},
	})
}

func (o *tailOptions) print(ctx context.Context, w io.Writer, in *datafile.Input) error {
	switch {
	case o.bytes.given && o.bytes.fromStart:
		return copyPart(ctx, in, w, o.bytes.before(), in.Size)
	case o.bytes.given:
		return copyPart(ctx, in, w, in.Size-o.bytes.n, in.Size)
	case o.lines.fromStart:
		off, err := copyLines(ctx, in, io.Discard, o.lines.before())
		if err != nil {
			return err
		}
		return copyPart(ctx, in, w, off, in.Size)
	case o.lines.given:
		return copyLastLines(ctx, in, w, o.lines.n)
	}
	return copyLastLines(ctx, in, w, usualLines)
}

// tailFlag is the value of a flag that counts from the end, or with a plus from the start.
type tailFlag struct {
	text             string
	n                int64
	fromStart, given bool
	parse            func(string) (int64, error)
}

// Set reads the value.
func (f *tailFlag) Set(s string) (err error) {
	rest, plus := strings.CutPrefix(s, "+")
	f.text, f.given, f.fromStart = s, true, plus
	f.n, err = f.parse(rest)
	return err
}

// String is the value as it was given, which is set again for each name of the flag.
func (f *tailFlag) String() string { return f.text }

// before is how many there are before number n, which is the first that is printed.
func (f *tailFlag) before() int64 { return max(0, f.n-1) }

// parseCount reads a number of lines.
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, errors.New("a number from 0 up is needed, or +N")
	}
	return int64(n), nil
}

// parseBytes reads a number of bytes.
func parseBytes(s string) (int64, error) {
	var size cliio.SizeFlag
	err := size.Set(s)
	return size.Bytes, err
}
