package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type headOptions struct {
	headers
	lines int64
	bytes cliio.SizeFlag
}

// Head returns the command head.
func Head(a *app.App) *cli.Command {
	o := &headOptions{}
	linesGiven := false
	return a.NewCommand(app.Spec{
		Name: "head", Args: "PATH...", Least: 1, Most: -1,
		Summary: "print the beginning of files",
		Text: `Prints the first lines or bytes of files on the service, and reads little more. Several
files are printed under their names.`,
		Examples: []string{
			"paddlectl head /pfs/dc1/home/alice/train.csv",
			"paddlectl head -c 4K /pfs/dc1/home/alice/big.bin | xxd",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.Int64Flag{Name: "lines", Aliases: []string{"n"}, Usage: "print the first `N` lines", Value: usualLines, Destination: &o.lines},
			&cli.GenericFlag{Name: "bytes", Aliases: []string{"c"}, Usage: "print the first `SIZE` bytes instead", Value: &o.bytes},
		}, o.flags()...),
		Given: func(isSet func(string) bool) { linesGiven = isSet("lines") },
		Run: func(ctx context.Context, operands []string) error {
			switch {
			case linesGiven && o.bytes.Given:
				return cliargs.Usagef("--lines and --bytes contradict each other")
			case o.lines < 0:
				return cliargs.Usagef("--lines %d: a number from 0 up is needed", o.lines)
			}
			return eachOpen(ctx, a, &o.headers, operands, func(in *recordfile.Input) error { return o.print(ctx, a.Out, in) })
		},
	})
}

func (o *headOptions) print(ctx context.Context, w io.Writer, in *recordfile.Input) error {
	if o.bytes.Given {
		return copyPart(ctx, in, w, 0, o.bytes.Bytes)
	}
	_, err := copyLines(ctx, in, w, o.lines)
	return err
}

type tailOptions struct {
	headers
	lines, bytes tailFlag
}

// Tail returns the command tail.
func Tail(a *app.App) *cli.Command {
	o := &tailOptions{lines: tailFlag{parse: parseCount}, bytes: tailFlag{parse: parseBytes}}
	return a.NewCommand(app.Spec{
		Name: "tail", Args: "PATH...", Least: 1, Most: -1,
		Summary: "print the end of files",
		Text: `Prints the last lines or bytes of files on the service. It reads only the end of a file,
however large the file is. Several files are printed under their names.`,
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
			return eachOpen(ctx, a, &o.headers, operands, func(in *recordfile.Input) error { return o.print(ctx, a.Out, in) })
		},
	})
}

func (o *tailOptions) print(ctx context.Context, w io.Writer, in *recordfile.Input) error {
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

// String returns the value as given: the parser sets it again for each name of the flag.
func (f *tailFlag) String() string { return f.text }

// before returns how many lines or bytes precede number n, the first to print.
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

// Lines are searched buffer by buffer. The first is small, because it mostly suffices; the others
// grow to a chunk.
const (
	firstPiece = 64 << 10
	maxPiece   = pfs.ChunkSize
)

// usualLines is how many lines head and tail print by default.
const usualLines = 10

// headers are the names that head and tail print above files.
type headers struct {
	always, never bool
	several       bool // several files, or a pattern
	begun         bool // something was printed
}

func (h *headers) flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no file names", Destination: &h.never},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "also print the name of a single file", Destination: &h.always},
	}
}

// print prints the name of the next file.
func (h *headers) print(a *app.App, name pfs.Path) {
	if h.never || !h.several && !h.always {
		return
	}
	if h.begun {
		a.Printf("\n")
	}
	h.begun = true
	a.Printf("==> %s <==\n", a.Name(string(name)))
}

// eachOpen prints the header of every file that the operands name, opens it and calls fn.
func eachOpen(ctx context.Context, a *app.App, h *headers, operands []string, fn func(*recordfile.Input) error) error {
	for _, text := range operands {
		if old := app.OldCount.FindString(text); old != "" {
			return cliargs.Usagef("%s: write -n %s", old, old[1:])
		}
		if text == "-" {
			return cliargs.Usagef("\"-\" is standard input: %s reads files of the service", a.Command)
		}
	}
	h.several = len(operands) > 1 || pfs.HasMagic(operands[0])
	return a.EachContent(ctx, operands, func(t app.Target) error {
		in, err := datafile.Open(ctx, a, recordfile.File{Title: string(t.Path), End: t.End(), Listed: t.Matched}, nil)
		if err != nil {
			return err
		}
		defer in.Close()
		h.print(a, t.Path)
		return fn(in)
	})
}

// copyPart writes the bytes from one offset to another.
func copyPart(ctx context.Context, in *recordfile.Input, w io.Writer, from, to int64) error {
	r := transfer.NewReadAhead(ctx, in.Opened, max(0, min(from, in.Size)), min(to, in.Size))
	defer r.Stop()
	_, err := io.Copy(w, r)
	return err
}

// copyLines writes the first n lines, and returns the offset after them.
func copyLines(ctx context.Context, in *recordfile.Input, w io.Writer, n int64) (off int64, err error) {
	buf := make([]byte, min(firstPiece, in.Size))
	for n > 0 && off < in.Size {
		p := buf[:min(int64(len(buf)), in.Size-off)]
		if err := pfs.ReadFull(ctx, in.Opened, p, off); err != nil {
			return off, err
		}
		end := 0
		for ; n > 0 && end < len(p); n-- {
			i := bytes.IndexByte(p[end:], '\n')
			if i < 0 {
				end = len(p)
				break
			}
			end += i + 1
		}
		if _, err := w.Write(p[:end]); err != nil {
			return off, err
		}
		off += int64(end)
		buf = larger(buf)
	}
	return off, nil
}

// copyLastLines writes the last n lines.
func copyLastLines(ctx context.Context, in *recordfile.Input, w io.Writer, n int64) error {
	if n == 0 {
		return nil
	}
	buf := make([]byte, min(firstPiece, in.Size))
	for end := in.Size; end > 0; {
		p := buf[:min(int64(len(buf)), end)]
		from := end - int64(len(p))
		if err := pfs.ReadFull(ctx, in.Opened, p, from); err != nil {
			return err
		}
		seek := len(p)
		if end == in.Size {
			seek-- // the end of the last line does not begin another
		}
		for {
			i := bytes.LastIndexByte(p[:seek], '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				return copyFrom(ctx, in, w, p[i+1:], from+int64(i+1))
			}
			seek = i
		}
		end = from
		buf = larger(buf)
	}
	return copyPart(ctx, in, w, 0, in.Size)
}

// copyFrom writes everything from an offset on; read are its first bytes.
func copyFrom(ctx context.Context, in *recordfile.Input, w io.Writer, read []byte, off int64) error {
	if _, err := w.Write(read); err != nil {
		return err
	}
	return copyPart(ctx, in, w, off+int64(len(read)), in.Size)
}

// larger returns the next buffer.
func larger(buf []byte) []byte {
	if len(buf) >= maxPiece {
		return buf
	}
	return make([]byte, min(8*len(buf), maxPiece))
}
