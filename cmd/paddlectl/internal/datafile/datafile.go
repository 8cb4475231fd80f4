// Package datafile contains what the commands for records share: operands as files of records, the
// flags for reading them, output files, and messages about damage.
package datafile

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/tempfile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// Operands parses operands that name data: files, directories, patterns, and "-".
func Operands(ctx context.Context, a *app.App, texts []string) ([]dataset.Input, error) {
	var list []dataset.Input
	stdin := false
	for _, text := range texts {
		in, err := Operand(ctx, a, text)
		if err == nil && in.Stream != nil && stdin {
			err = cliargs.Usagef("\"-\" is given twice: standard input can be read only once")
		}
		if err != nil {
			return nil, err
		}
		stdin = stdin || in.Stream != nil
		list = append(list, in)
	}
	return list, nil
}

// Operand parses one operand.
func Operand(ctx context.Context, a *app.App, text string) (dataset.Input, error) {
	op, err := a.ParseOperand(text)
	if err != nil {
		return dataset.Input{}, err
	}
	if op.Side == app.Stdio {
		return dataset.Input{File: recordfile.File{Title: app.StdinText, Stream: a.Main.Stdin}}, nil
	}
	end, err := a.End(ctx, op)
	if err != nil {
		return dataset.Input{}, err
	}
	in := dataset.Input{File: recordfile.File{Title: text, End: end, Remote: op.Side == app.Remote}}
	in.Expand = func(ctx context.Context, fn func(recordfile.File) error) error { return expand(ctx, a, op, fn) }
	return in, nil
}

// expand calls fn for every file or directory that one operand names.
func expand(ctx context.Context, a *app.App, op app.Operand, fn func(recordfile.File) error) error {
	if op.Side == app.Remote {
		return a.Expand(ctx, op, func(t app.Target) error {
			return fn(recordfile.File{Title: string(t.Path), End: t.End(), Listed: t.Matched, Remote: true})
		})
	}
	return a.LocalSource(ctx, op, func(e transfer.End, text string) error {
		err := pfs.E("paddlectl.open", e.Path, pfs.Invalid, recordfile.ErrNotRegular)
		if !isStream(e) {
			err = fn(recordfile.File{Title: text, End: e})
		}
		if err != nil && strings.HasPrefix(text, "/dev/fd/") {
			err = app.WithHint(err, "a shell replaces <(COMMAND) by a pipe: use COMMAND | "+a.Program+" "+a.Command+" ... -")
		}
		return err
	})
}

// isStream reports whether e is a pipe or another special file.
func isStream(e transfer.End) bool {
	info, err := os.Stat(app.LocalText(e.Path))
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// List returns the files that the operands name, in that order. The matches of a pattern are
// sorted. A file that is named twice is returned twice.
func List(ctx context.Context, a *app.App, operands []string) ([]recordfile.File, error) {
	var list []recordfile.File
	inputs, err := Operands(ctx, a, operands)
	for _, in := range inputs {
		if err != nil {
			break
		}
		err = in.Each(ctx, func(f recordfile.File) error {
			list = append(list, f)
			return nil
		})
	}
	return list, WithHint(a, err)
}

// One returns the file that an operand names. A pattern must match exactly one file.
func One(ctx context.Context, a *app.App, operand string) (recordfile.File, error) {
	list, err := List(ctx, a, []string{operand})
	if err == nil && len(list) != 1 {
		err = cliargs.Usagef("%q matches %d files: one is needed", operand, len(list))
	}
	if err != nil {
		return recordfile.File{}, err
	}
	return list[0], nil
}

// Open opens f. m, which may be nil, counts the bytes read through Input.Reader.
func Open(ctx context.Context, a *app.App, f recordfile.File, m *app.Meter) (*recordfile.Input, error) {
	in, err := recordfile.Open(ctx, f, m)
	return in, hintOf(a, f, err)
}

// OpenRecords opens a file for random access.
func OpenRecords(ctx context.Context, a *app.App, f recordfile.File, o *ReadOptions) (*recordfile.Records, error) {
	r, err := recordfile.OpenRecords(ctx, f, recordio.OpenOptions{Parallelism: o.Parallel, MaxChunkBytes: o.maxChunk.Bytes})
	return r, hintOf(a, f, err)
}

// OpenOne is OpenRecords of the one file that an operand names.
func OpenOne(ctx context.Context, a *app.App, operand string, o *ReadOptions) (*recordfile.Records, error) {
	f, err := One(ctx, a, operand)
	if err != nil {
		return nil, err
	}
	return OpenRecords(ctx, a, f, o)
}

// hintOf adds the hint to an error from opening f.
func hintOf(a *app.App, f recordfile.File, err error) error {
	if errors.Is(err, pfs.IsDir) {
		return app.WithHint(err, "name the files in it: "+app.ShellWord(strings.TrimSuffix(f.Title, "/")+"/*"))
	}
	return WithHint(a, err)
}

// WithHint adds the hint to an error of package recordfile.
func WithHint(a *app.App, err error) error {
	var foreign *recordfile.ForeignError
	var stated *recordfile.DatasetError
	var temp *tempfile.Error
	switch {
	case err == nil || errors.As(err, new(app.Hinted)):
		return err
	case errors.As(err, &foreign):
		return app.WithHint(err, "this looks like "+foreign.Format+", not RecordIO: "+a.Program+" dataset convert converts it")
	case errors.As(err, &stated):
		return app.WithHint(err, "paddlectl dataset verify "+app.ShellWord(stated.Dataset)+" lists all problems")
	case errors.As(err, &temp):
		return app.WithHint(err, "TMPDIR names the directory for temporary files")
	case errors.Is(err, transfer.ErrNotReplaced):
		return app.WithHint(err, "--force replaces files that exist")
	case errors.Is(err, transfer.ErrNotRegular):
		return app.WithHint(err, "use - and redirect standard output to it")
	case errors.Is(err, recordfile.ErrNotRegular):
		return app.WithHint(err, "pipe it to standard input, whose name is -")
	}
	return err
}

// SameFile returns a function that reports whether in is the local file e under another name, for
// example redirected to standard input.
func SameFile(a *app.App) func(context.Context, recordfile.File, transfer.End) bool {
	return func(ctx context.Context, in recordfile.File, e transfer.End) bool {
		if e.Path.Within(app.Top) || in.Remote {
			return false
		}
		there, err := os.Stat(app.LocalText(e.Path))
		if err != nil {
			return false
		}
		if in.Stream == nil {
			info, err := os.Stat(app.LocalText(in.End.Path))
			return err == nil && os.SameFile(info, there)
		}
		f, ok := in.Stream.(*os.File)
		if !ok {
			return false
		}
		info, err := f.Stat()
		return err == nil && info.Mode().IsRegular() && os.SameFile(info, there)
	}
}
