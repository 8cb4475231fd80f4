package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// dataFile names a file of data that a command reads: one of this machine, one of a
// service, or standard input.
type dataFile struct {
	text  string       // as it was typed, or what a pattern matched; for messages
	end   transfer.End // not of standard input
	stdin bool

	listed *pfs.Info // what the list in which a pattern found it says; nil: not known
	stated *stated   // nil unless it is a shard of a dataset
}

// stdinText is what messages call standard input.
const stdinText = "standard input"

// eachDataFile calls fn for every file that the operands name, patterns expanded and
// links followed. It stops at the first error.
func (d *deps) eachDataFile(ctx context.Context, operands []string, fn func(dataFile) error) error {
	ops, err := d.operands(operands)
	if err != nil {
		return err
	}
	stdin := false
	for _, op := range ops {
		if op.side == stdio {
			if stdin {
				return cliargs.Usagef("\"-\" is given twice: standard input can be read once")
			}
			stdin = true
			if err := fn(dataFile{text: stdinText, stdin: true}); err != nil {
				return err
			}
			continue
		}
		if err := d.filesOf(ctx, op, fn); err != nil {
			return err
		}
	}
	return nil
}

// filesOf calls fn for every file that one operand names.
func (d *deps) filesOf(ctx context.Context, op operand, fn func(dataFile) error) error {
	if op.side != local {
		return d.expand(ctx, op, func(t target) error {
			return fn(dataFile{text: string(t.path), end: t.end(), listed: t.matched})
		})
	}
	return d.localSource(ctx, op, func(e transfer.End, text string) error {
		return fn(dataFile{text: text, end: e})
	})
}

// dataFiles lists the files that the operands name, in that order; what a pattern
// matches is sorted. A file that is named twice is there twice.
func (d *deps) dataFiles(ctx context.Context, operands []string) ([]dataFile, error) {
	var list []dataFile
	err := d.eachDataFile(ctx, operands, func(f dataFile) error {
		list = append(list, f)
		return nil
	})
	return list, err
}

// isDirectory reports whether f, or what it leads to, is a directory.
func (f dataFile) isDirectory(ctx context.Context) (bool, error) {
	switch {
	case f.stdin:
		return false, nil
	case f.listed != nil && !f.listed.IsLink():
		return f.listed.IsDir(), nil
	}
	_, info, err := followed(ctx, f.end, true)
	return info.IsDir(), err
}

// dataFile is the one file that an operand names, which may be a pattern that
// matches one.
func (d *deps) dataFile(ctx context.Context, operand string) (dataFile, error) {
	list, err := d.dataFiles(ctx, []string{operand})
	if err == nil && len(list) != 1 {
		err = cliargs.Usagef("%q matches %d files: one is needed", operand, len(list))
	}
	if err != nil {
		return dataFile{}, err
	}
	return list[0], nil
}

// input is an open dataFile. What it reads is one version of the file: if that is
// replaced meanwhile the reads go on with the old one or answer Conflict.
type input struct {
	dataFile
	io.Reader // from the beginning to the end, once; counted in the meter

	// ReaderAt reads at random, as io.ReaderAt does; nil for standard input
	// that is not kept.
	ReaderAt io.ReaderAt

	size int64    // -1 for standard input
	info pfs.Info // of the version that is open; zero for standard input
	file pfs.File
	stop func() // ends what reads ahead
}

// open opens f. A file of a service is read ahead of its Reader. m, which may be nil,
// counts what is read through Reader, and knows the total if the caller adds it.
func (d *deps) open(ctx context.Context, f dataFile, m *meter) (*input, error) {
	if f.stdin {
		r := newStoppable(ctx, d.main.Stdin)
		return &input{dataFile: f, Reader: m.reader(r), size: -1, stop: r.stop}, nil
	}
	end, info, err := followed(ctx, f.end, true)
	switch {
	case err == nil && info.IsDir():
		return nil, hinted{pfs.E("paddlectl.open", f.end.Path, pfs.IsDir, nil), "name the files in it: " + shellWord(strings.TrimSuffix(f.text, "/")+"/*")}
	case isMissing(err) && f.isStream(), err == nil && !info.IsRegular():
		return nil, pfs.Errorf("paddlectl.open", f.end.Path, pfs.Invalid, "no regular file: pipe it to standard input, which is called -")
	case err != nil:
		return nil, err
	}
	file, err := end.FS.Open(ctx, end.Path)
	if err != nil {
		return nil, err
	}
	f.end = end
	in := &input{dataFile: f, info: file.Info(), size: file.Info().Size, file: file, stop: func() {}}
	at := pfs.NewReader(ctx, file)
	in.Reader, in.ReaderAt = m.reader(at), at
	if end.Path.Within(top) {
		ahead := newReadAhead(ctx, file, 0, in.size)
		in.Reader, in.stop = m.reader(ahead), ahead.stop
	}
	return in, nil
}

// keep reads all of standard input into a temporary file, so that it can be read at random
// until Close. After an error in is closed.
func (in *input) keep() error {
	file, err := newTempFile()
	if err != nil {
		in.stop()
		return err
	}
	stop := in.stop
	in.stop = func() { stop(); file.Close() } // what cannot be removed is in the folder for temporary files
	if in.size, err = io.Copy(file, in.Reader); err != nil {
		in.stop()
		return err
	}
	in.Reader, in.ReaderAt = io.NewSectionReader(file, 0, in.size), file
	return nil
}

// isStream reports whether f is a pipe or the like that its path leads to without naming
// it, as /dev/fd/63, which shells make of <(...).
func (f dataFile) isStream() bool {
	if f.end.Path.Within(top) {
		return false
	}
	info, err := os.Stat(localText(f.end.Path))
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Close ends the use of the file.
func (in *input) Close() error {
	in.stop()
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// sameFile reports whether f is the file that e leads to.
func (f dataFile) sameFile(ctx context.Context, e transfer.End) bool {
	if f.stdin || f.end.FS != e.FS {
		return false
	}
	if f.end.Path == e.Path {
		return true
	}
	a, _, errA := followed(ctx, f.end, true)
	b, _, errB := followed(ctx, e, true)
	if errA != nil || errB != nil {
		return false // what is not there is not the same
	}
	return a.Path == b.Path || !a.Path.Within(top) && sameOnDisk(a, b)
}

// sameOnDisk reports whether two paths of this machine are one file, by other names
// of it too.
func sameOnDisk(a, b transfer.End) bool {
	i, errA := os.Stat(localText(a.Path))
	j, errB := os.Stat(localText(b.Path))
	return errA == nil && errB == nil && os.SameFile(i, j)
}

// sizeOf returns the bytes of all files together; -1 if one is standard input. What
// cannot be described is counted as nothing: opening it says why.
func sizeOf(ctx context.Context, files []dataFile) int64 {
	total := int64(0)
	for _, f := range files {
		if f.stdin {
			return -1
		}
		if _, info, err := followed(ctx, f.end, true); err == nil {
			total += info.Size
		}
	}
	return total
}

// isMissing reports whether err says that a file is not there.
func isMissing(err error) bool { return errors.Is(err, pfs.NotExist) }

// eachOf calls fn for every one of several things, and goes on after an error.
func eachOf[T any](ctx context.Context, d *deps, things []T, fn func(T) error) error {
	if len(things) == 1 {
		return fn(things[0])
	}
	tally := cliio.NewTally(d.reportFailure)
	for _, one := range things {
		err := fn(one)
		tally.Add(err)
		if hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}
