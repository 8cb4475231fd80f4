package files

import (
	"bytes"
	"context"
	"io"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// The lines of a file are looked for in pieces: the first is small, since mostly that is
// all, and the others grow to a chunk, however long the lines are.
const (
	firstPiece = 64 << 10
	maxPiece   = pfs.ChunkSize
)

// usualLines is how many lines head and tail print if nothing is said.
const usualLines = 10

// headers are the names that head and tail print above files.
type headers struct {
	always, never bool
	several       bool // files are named, or a pattern is
	begun         bool // something was printed
}

func (h *headers) flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no names of files", Destination: &h.never},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print the name of a single file, too", Destination: &h.always},
	}
}

// print prints the name of the file that comes now.
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

// eachOpen calls fn for every file that the operands of head or tail name, open and under
// its header.
func eachOpen(ctx context.Context, a *app.App, h *headers, operands []string, fn func(*datafile.Input) error) error {
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
		in, err := datafile.Open(ctx, a, datafile.File{Text: string(t.Path), End: t.End(), Listed: t.Matched}, nil)
		if err != nil {
			return err
		}
		defer in.Close()
		h.print(a, t.Path)
		return fn(in)
	})
}

// copyPart writes the bytes from one offset to another.
func copyPart(ctx context.Context, in *datafile.Input, w io.Writer, from, to int64) error {
	r := datafile.NewReadAhead(ctx, in.Opened, max(0, min(from, in.Size)), min(to, in.Size))
	defer r.Stop()
	_, err := io.Copy(w, r)
	return err
}

// copyLines writes the first n lines, and returns the offset behind them.
func copyLines(ctx context.Context, in *datafile.Input, w io.Writer, n int64) (off int64, err error) {
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
func copyLastLines(ctx context.Context, in *datafile.Input, w io.Writer, n int64) error {
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
			seek-- // the end of the last line begins no other
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

// copyFrom writes all from an offset on, of which the first bytes are read.
func copyFrom(ctx context.Context, in *datafile.Input, w io.Writer, read []byte, off int64) error {
	if _, err := w.Write(read); err != nil {
		return err
	}
	return copyPart(ctx, in, w, off+int64(len(read)), in.Size)
}

// larger returns the buffer for the next piece.
func larger(buf []byte) []byte {
	if len(buf) >= maxPiece {
		return buf
	}
	return make([]byte, min(8*len(buf), maxPiece))
}
