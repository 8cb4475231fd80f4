// Package datafile reads and writes the files of records that commands work on: files of this
// machine, of a service, and standard input.
package datafile

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// File names a file of data that a command reads: one of this machine, one of a
// service, or standard input.
type File struct {
	Text  string       // as it was typed, or what a pattern matched; for messages
	End   transfer.End // not of standard input
	Stdin bool

	Listed *pfs.Info // what the list in which a pattern found it says; nil: not known
	Stated *Stated   // nil unless it is a shard of a dataset
}

// Each calls fn for every file that the operands name, patterns expanded and
// links followed. It stops at the first error.
func Each(ctx context.Context, a *app.App, operands []string, fn func(File) error) error {
	ops, err := a.Operands(operands)
	if err != nil {
		return err
	}
	stdin := false
	for _, op := range ops {
		if op.Side == app.Stdio {
			if stdin {
				return cliargs.Usagef("\"-\" is given twice: standard input can be read once")
			}
			stdin = true
			if err := fn(File{Text: app.StdinText, Stdin: true}); err != nil {
				return err
			}
			continue
		}
		if err := filesOf(ctx, a, op, fn); err != nil {
			return err
		}
	}
	return nil
}

// filesOf calls fn for every file that one operand names.
func filesOf(ctx context.Context, a *app.App, op app.Operand, fn func(File) error) error {
	if op.Side != app.Local {
		return a.Expand(ctx, op, func(t app.Target) error {
			return fn(File{Text: string(t.Path), End: t.End(), Listed: t.Matched})
		})
	}
	return a.LocalSource(ctx, op, func(e transfer.End, text string) error {
		return fn(File{Text: text, End: e})
	})
}

// List lists the files that the operands name, in that order; what a pattern
// matches is sorted. A file that is named twice is there twice.
func List(ctx context.Context, a *app.App, operands []string) ([]File, error) {
	var list []File
	err := Each(ctx, a, operands, func(f File) error {
		list = append(list, f)
		return nil
	})
	return list, err
}

// IsDirectory reports whether f, or what it leads to, is a directory.
func (f File) IsDirectory(ctx context.Context) (bool, error) {
	switch {
	case f.Stdin:
		return false, nil
	case f.Listed != nil && !f.Listed.IsLink():
		return f.Listed.IsDir(), nil
	}
	_, info, err := app.Followed(ctx, f.End, true)
	return info.IsDir(), err
}

// One is the one file that an operand names, which may be a pattern that
// matches one.
func One(ctx context.Context, a *app.App, operand string) (File, error) {
	list, err := List(ctx, a, []string{operand})
	if err == nil && len(list) != 1 {
		err = cliargs.Usagef("%q matches %d files: one is needed", operand, len(list))
	}
	if err != nil {
		return File{}, err
	}
	return list[0], nil
}

// Input is an open dataFile. What it reads is one version of the file: if that is
// replaced meanwhile the reads go on with the old one or answer Conflict.
type Input struct {
	File
	io.Reader // from the beginning to the end, once; counted in the meter

	// ReaderAt reads at random, as io.ReaderAt does; nil for standard input
	// that is not kept.
	ReaderAt io.ReaderAt

	Size   int64    // -1 for standard input
	Info   pfs.Info // of the version that is open; zero for standard input
	Opened pfs.File
	stop   func() // ends what reads ahead
}

// Open opens f. A file of a service is read ahead of its Reader. m, which may be nil,
// counts what is read through Reader, and knows the total if the caller adds it.
func Open(ctx context.Context, a *app.App, f File, m *app.Meter) (*Input, error) {
	if f.Stdin {
		r := app.NewStoppable(ctx, a.Main.Stdin)
		return &Input{File: f, Reader: m.Reader(r), Size: -1, stop: r.Stop}, nil
	}
	end, info, err := app.Followed(ctx, f.End, true)
	switch {
	case err == nil && info.IsDir():
		return nil, app.WithHint(pfs.E("paddlectl.open", f.End.Path, pfs.IsDir, nil), "name the files in it: "+app.ShellWord(strings.TrimSuffix(f.Text, "/")+"/*"))
	case app.IsMissing(err) && f.isStream(), err == nil && !info.IsRegular():
		return nil, pfs.Errorf("paddlectl.open", f.End.Path, pfs.Invalid, "no regular file: pipe it to standard input, which is called -")
	case err != nil:
		return nil, err
	}
	file, err := end.FS.Open(ctx, end.Path)
	if err != nil {
		return nil, err
	}
	f.End = end
	in := &Input{File: f, Info: file.Info(), Size: file.Info().Size, Opened: file, stop: func() {}}
	at := pfs.NewReader(ctx, file)
	in.Reader, in.ReaderAt = m.Reader(at), at
	if end.Path.Within(app.Top) {
		ahead := NewReadAhead(ctx, file, 0, in.Size)
		in.Reader, in.stop = m.Reader(ahead), ahead.Stop
	}
	return in, nil
}

// keep reads all of standard input into a temporary file, so that it can be read at random
// until Close. After an error in is closed.
func (in *Input) keep() error {
	file, err := NewTempFile()
	if err != nil {
		in.stop()
		return err
	}
	stop := in.stop
	in.stop = func() { stop(); file.Close() } // what cannot be removed is in the folder for temporary files
	if in.Size, err = io.Copy(file, in.Reader); err != nil {
		in.stop()
		return err
	}
	in.Reader, in.ReaderAt = io.NewSectionReader(file, 0, in.Size), file
	return nil
}

// isStream reports whether f is a pipe or the like that its path leads to without naming
// it, as /dev/fd/63, which shells make of <(...).
func (f File) isStream() bool {
	if f.End.Path.Within(app.Top) {
		return false
	}
	info, err := os.Stat(app.LocalText(f.End.Path))
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Close ends the use of the file.
func (in *Input) Close() error {
	in.stop()
	if in.Opened == nil {
		return nil
	}
	return in.Opened.Close()
}

// SameFile reports whether f is the file that e leads to.
func (f File) SameFile(ctx context.Context, e transfer.End) bool {
	if f.Stdin || f.End.FS != e.FS {
		return false
	}
	if f.End.Path == e.Path {
		return true
	}
	a, _, errA := app.Followed(ctx, f.End, true)
	b, _, errB := app.Followed(ctx, e, true)
	if errA != nil || errB != nil {
		return false // what is not there is not the same
	}
	return a.Path == b.Path || !a.Path.Within(app.Top) && sameOnDisk(a, b)
}

// sameOnDisk reports whether two paths of this machine are one file, by other names
// of it too.
func sameOnDisk(a, b transfer.End) bool {
	i, errA := os.Stat(app.LocalText(a.Path))
	j, errB := os.Stat(app.LocalText(b.Path))
	return errA == nil && errB == nil && os.SameFile(i, j)
}

// SizeOf returns the bytes of all files together; -1 if one is standard input. What
// cannot be described is counted as nothing: opening it says why.
func SizeOf(ctx context.Context, files []File) int64 {
	total := int64(0)
	for _, f := range files {
		if f.Stdin {
			return -1
		}
		if _, info, err := app.Followed(ctx, f.End, true); err == nil {
			total += info.Size
		}
	}
	return total
}
