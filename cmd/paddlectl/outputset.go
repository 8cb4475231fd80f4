package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// outputs are the files that a command makes. None of them can be seen before
// publish, which gives them their names together:
//
//	outs := d.newOutputs(ctx, force, inputs)
//	defer outs.abort()
//	o, err := outs.create(text, end)
//	... write to o ...
//	err = o.finish()
//	... more of them; what says that the set is complete is created last ...
//	err = outs.publish()
//
// A file that exists is refused unless force is set, early and again when it would
// be replaced. It may be used from several goroutines, each output from one at a
// time.
type outputs struct {
	d      *deps
	ctx    context.Context
	force  bool
	inputs []dataFile
	slots  chan struct{} // limits the chunks on their way
	bufs   sync.Pool     // of *[]byte, pfs.ChunkSize long

	// keepParts leaves finished parts where they are if the set is not published, for
	// a run that goes on with them.
	keepParts bool

	mu   sync.Mutex
	list []*output
	done bool
}

// chunksOnTheWay is how many chunks all outputs together write at once.
const chunksOnTheWay = 4

// newOutputs begins a set that is made from inputs, which it must not replace.
func (d *deps) newOutputs(ctx context.Context, force bool, inputs []dataFile) *outputs {
	return &outputs{d: d, ctx: ctx, force: force, inputs: inputs, slots: make(chan struct{}, chunksOnTheWay)}
}

// outputEnd reads the operand of one output file; "-" gives a zero End.
func (d *deps) outputEnd(ctx context.Context, text string) (transfer.End, error) {
	op, err := d.parseOperand(text)
	if err != nil || op.side == stdio {
		return transfer.End{}, err
	}
	t, err := d.target(ctx, op, false)
	switch {
	case err != nil:
		return t.end, err
	case t.isDir || t.slash:
		return t.end, cliargs.Usagef("%q is a directory: the name of a file is needed", text)
	}
	return t.end, nil
}

// outputDir reads the operand of a directory for outputs and makes it if it is
// missing; what is above it must be there.
func (d *deps) outputDir(ctx context.Context, text string) (transfer.End, error) {
	t, err := d.lookAtDir(ctx, text)
	if err == nil {
		err = d.makeDir(ctx, t)
	}
	return t.end, err
}

// inDir is what messages and results call the file of a name in the directory that text
// names: as the user writes it.
func inDir(text, name string) string {
	if n := len(text); n > 0 && os.IsPathSeparator(text[n-1]) {
		text = text[:n-1]
	}
	return text + "/" + name
}

// makeDir makes the directory t if it is missing.
func (d *deps) makeDir(ctx context.Context, t copyTarget) error {
	if t.exists {
		return nil
	}
	return (&copier{d: d, o: &copyOptions{}, to: t}).hint(ctx, t.end.FS.Mkdir(ctx, t.end.Path, 0o755))
}

// lookAtDir is outputDir that makes nothing.
func (d *deps) lookAtDir(ctx context.Context, text string) (copyTarget, error) {
	op, err := d.parseOperand(text)
	if err == nil && op.side == stdio {
		err = cliargs.Usagef("\"-\" is no directory: several files need one")
	}
	if err != nil {
		return copyTarget{}, err
	}
	t, err := d.target(ctx, op, false)
	if err == nil && t.exists && !t.isDir {
		err = pfs.Errorf("paddlectl.outputDir", t.end.Path, pfs.NotDir, "several files need a directory")
	}
	return t, err
}

// create begins the file e, which messages call text. A zero End is standard output.
func (s *outputs) create(text string, e transfer.End) (*output, error) {
	if e.FS == nil {
		return s.add(&output{set: s, text: "standard output", stdout: true}), nil
	}
	if err := s.check(text, e); err != nil {
		return nil, err
	}
	o := &output{set: s, text: text, end: e}
	if err := o.begin(e.Path); err != nil {
		return nil, err
	}
	return s.add(o), nil
}

// rehearse returns the error with which create would be refused.
func (s *outputs) rehearse(text string, e transfer.End) error {
	if e.FS == nil {
		return nil
	}
	err := s.check(text, e)
	if err == nil {
		_, err = (&output{set: s, text: text, end: e}).stage(new(transfer.Rehearsal).FS(e.FS), e.Path)
	}
	return err
}

// createPart begins a file whose name is not known yet: it is written as part, a
// dot-file, until name has been called.
func (s *outputs) createPart(part transfer.End) (*output, error) {
	o := &output{set: s, text: localText(part.Path), end: part, part: part.Path}
	if err := o.begin(part.Path); err != nil {
		return nil, err
	}
	return s.add(o), nil
}

// adopt takes a part that an earlier run finished into the set.
func (s *outputs) adopt(part transfer.End, size int64) *output {
	return s.add(&output{set: s, text: localText(part.Path), end: part, part: part.Path, size: size, finished: true})
}

func (s *outputs) add(o *output) *output {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, o)
	return o
}

// check refuses what is there, what is no file, what is read, and what is in the set.
func (s *outputs) check(text string, e transfer.End) error {
	for _, in := range s.inputs {
		if in.sameFile(s.ctx, e) {
			return cliargs.Usagef("%s is read and cannot be the output too", in.text)
		}
	}
	s.mu.Lock()
	twice := slices.ContainsFunc(s.list, func(o *output) bool { return o.end == e })
	s.mu.Unlock()
	if twice {
		return cliargs.Usagef("%s would be written twice", text)
	}
	info, err := e.FS.Stat(s.ctx, e.Path)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return err
	case !info.IsDir() && !info.IsRegular() && !info.IsLink():
		return pfs.Errorf("paddlectl.create", e.Path, pfs.Exist, "no regular file: use - and let the shell lead standard output there")
	case !s.force && !info.IsDir():
		return hinted{pfs.Errorf("paddlectl.create", e.Path, pfs.Exist, "not replaced"), "--force replaces files that exist"}
	}
	return nil
}

// publish gives all files their names, in the order in which they were created. Every
// output must be finished. If one cannot be published, those before it are removed
// again, unless force may have replaced files.
func (s *outputs) publish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.list {
		if err := o.publish(); err != nil {
			return errors.Join(err, s.takeBack(s.list[:i]))
		}
	}
	s.done = true
	return nil
}

// takeBack removes what was published of a set that is not going to be complete.
func (s *outputs) takeBack(published []*output) error {
	if s.force {
		return nil
	}
	ctx, cancel := s.cleaning()
	defer cancel()
	for _, o := range published {
		if o.stdout {
			continue
		}
		if err := o.end.FS.Remove(ctx, o.end.Path); err != nil {
			return err
		}
	}
	return nil
}

// cleanUpTime bounds the removal of what is left of a set that failed.
const cleanUpTime = 30 * time.Second

// cleaning returns a context that outlives an interrupt for a while.
func (s *outputs) cleaning() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.ctx), cleanUpTime)
}

// abort discards what was not published. After publish it does nothing.
func (s *outputs) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.done = true
	ctx, cancel := s.cleaning()
	defer cancel()
	for _, o := range s.list {
		o.discard(ctx)
	}
}
