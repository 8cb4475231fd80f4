package transfer

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Outputs is a set of files that become visible together, in Publish:
//
//	outs := transfer.NewOutputs(ctx, opts)
//	defer outs.Abort()
//	o, err := outs.Create(title, end)
//	... write to o ...
//	err = o.Finish()
//	... more of them; the file that marks the set as complete is created last ...
//	err = outs.Publish()
//
// An Outputs is safe for concurrent use, an Output is not.
type Outputs struct {
	ctx  context.Context
	opts OutputOptions
	job  *Job

	open atomic.Int32 // outputs that are not finished

	mu   sync.Mutex
	list []*Output
	done bool
}

// fewOutputs is the number of unfinished outputs up to which each keeps the bytes that its target
// could lose. Beyond that, each chunk is made durable before the next one, so that outputs do not
// wait for each other's memory.
const fewOutputs = 2

// OutputOptions are the options of an Outputs.
type OutputOptions struct {
	// Force replaces files that exist. Without it they are refused, early and again when they
	// would be replaced.
	Force bool

	// KeepParts keeps finished parts if the set is not published, for a run that resumes with them.
	KeepParts bool

	// Algorithm computes a digest of each file for Output.Digest; empty for none.
	Algorithm string

	// Reads, if not nil, reports whether e is an input, with its title. Inputs are not replaced.
	Reads func(ctx context.Context, e End) (title string, yes bool)

	// Stdout is the destination of an End without a file system.
	Stdout interface {
		io.Writer
		Flush() error
	}

	// Explain, if not nil, may add to the error from creating a file.
	Explain func(title string, e End, err error) error
}

// The causes for which an existing entry is not replaced: a file unless OutputOptions.Force is set,
// special files always.
var (
	ErrNotReplaced = errors.New("not replaced")
	ErrNotRegular  = errors.New("not a regular file")
)

// NewOutputs begins a set. It ends with Publish or Abort.
func NewOutputs(ctx context.Context, opts OutputOptions) *Outputs {
	job, _ := New(Options{Pool: NewPool(StreamWindow)}) // nothing to refuse
	return &Outputs{ctx: ctx, opts: opts, job: job}
}

// openOutputs is how many finished files stay open until they are published; of
// more, the staged bytes wait by themselves.
const openOutputs = 32

// Output is one file of a set, an io.Writer.
type Output struct {
	Title string // its name in messages
	End   End

	set      *Outputs
	part     pfs.Path // dot-file before publication; "": upload only
	stdout   bool
	w        *Writer // nil after a part is finished
	size     int64   // of a part that was adopted
	digest   string
	finished bool
}

// Create begins the file e, which messages call title. An End without a file system is
// OutputOptions.Stdout.
func (s *Outputs) Create(title string, e End) (*Output, error) {
	if e.FS == nil {
		return s.add(&Output{set: s, Title: "standard output", stdout: true}), nil
	}
	if err := s.check(title, e); err != nil {
		return nil, err
	}
	return s.begin(&Output{set: s, Title: title, End: e})
}

// Rehearse returns the error with which Create would be refused.
func (s *Outputs) Rehearse(title string, e End) error {
	if e.FS == nil {
		return nil
	}
	err := s.check(title, e)
	if err == nil {
		_, err = new(Rehearsal).FS(e.FS).Create(s.ctx, e.Path, pfs.CreateOptions{})
		err = s.explain(title, e, err)
	}
	return err
}

// CreatePart begins a file whose name is not known yet. It is written as part, a dot-file, until
// Name is called.
func (s *Outputs) CreatePart(part End) (*Output, error) {
	return s.begin(&Output{set: s, Title: string(part.Path), End: part, part: part.Path})
}

// Adopt takes a part that an earlier run finished into the set.
func (s *Outputs) Adopt(part End, size int64) *Output {
	return s.add(&Output{set: s, Title: string(part.Path), End: part, part: part.Path, size: size, finished: true})
}

func (s *Outputs) begin(o *Output) (_ *Output, err error) {
	o.w, err = s.job.NewWriter(s.ctx, o.End, WriterOptions{Algorithm: s.opts.Algorithm})
	if err != nil {
		return nil, s.explain(o.Title, o.End, err)
	}
	s.open.Add(1)
	o.w.crowded = func() bool { return s.open.Load() > fewOutputs }
	return s.add(o), nil
}

func (s *Outputs) explain(title string, e End, err error) error {
	if err == nil || s.opts.Explain == nil {
		return err
	}
	return s.opts.Explain(title, e, err)
}

func (s *Outputs) add(o *Output) *Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, o)
	return o
}

// check refuses a target that exists, is not a file, is an input, or is in the set already.
func (s *Outputs) check(title string, e End) error {
	const op = "transfer.Create"
	if s.opts.Reads != nil {
		if read, yes := s.opts.Reads(s.ctx, e); yes {
			return &outputError{read, "is read and cannot be the output too"}
		}
	}
	s.mu.Lock()
	twice := slices.ContainsFunc(s.list, func(o *Output) bool { return o.End == e })
	s.mu.Unlock()
	if twice {
		return &outputError{title, "would be written twice"}
	}
	info, err := e.FS.Stat(s.ctx, e.Path)
	switch {
	case errors.Is(err, pfs.NotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() && !info.IsRegular() && !info.IsLink():
		return s.explain(title, e, pfs.E(op, e.Path, pfs.Exist, ErrNotRegular))
	case !s.opts.Force && !info.IsDir():
		return s.explain(title, e, pfs.E(op, e.Path, pfs.Exist, ErrNotReplaced))
	}
	return nil
}

// outputError refuses a file because of the other files of a command.
type outputError struct{ title, why string }

func (e *outputError) Error() string { return e.title + " " + e.why }
func (e *outputError) Unwrap() error { return pfs.Invalid }

// Write takes p. A failure may come with a later call.
func (o *Output) Write(p []byte) (int, error) {
	if !o.stdout {
		return o.w.Write(p)
	}
	if err := pfs.CheckContext(o.set.ctx, "transfer.Write", ""); err != nil {
		return 0, err
	}
	return o.set.opts.Stdout.Write(p)
}

// Finish makes the file durable: a part under its name, other files as uploads. Nothing can be
// written afterwards.
func (o *Output) Finish() error {
	if o.finished || o.stdout {
		o.finished = true
		return nil
	}
	if o.part != "" {
		if _, err := o.w.Commit(pfs.CommitOptions{}); err != nil {
			return err
		}
	} else if err := o.w.Seal(); err != nil {
		return err
	}
	o.finished = true
	o.set.open.Add(-1)
	if o.set.opts.Algorithm != "" {
		var err error
		if o.digest, err = o.w.Digest(); err != nil {
			return err
		}
	}
	return o.rest()
}

// Digest returns the digest by OutputOptions.Algorithm of a file that was written and finished.
func (o *Output) Digest() string { return o.digest }

// rest closes the handle of a finished file if there are many, or if it keeps bytes in a local
// file, which are durable by now.
func (o *Output) rest() error {
	if o.part != "" {
		o.w.Close(o.set.ctx)
		o.w = nil
		return nil
	}
	o.set.mu.Lock()
	many := len(o.set.list) > openOutputs
	o.set.mu.Unlock()
	if many || o.w.kept != nil {
		return o.w.Suspend()
	}
	return nil
}

// IsPart reports whether the file is a part, which needs a Name.
func (o *Output) IsPart() bool { return o.part != "" }

// Name sets the final name of a part.
func (o *Output) Name(title string, e End) error {
	if err := o.set.check(title, e); err != nil {
		return err
	}
	o.Title, o.End = title, e
	return nil
}

// Publish gives all files their names, in the order in which they were created. Every
// output must be finished. If one cannot be published, those before it are removed
// again, unless OutputOptions.Force may have replaced files.
func (s *Outputs) Publish() error {
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

// publish gives the file its name.
func (o *Output) publish() error {
	switch {
	case o.stdout:
		return o.set.opts.Stdout.Flush()
	case !o.finished:
		return pfs.Errorf("transfer.Publish", o.End.Path, pfs.Other, "not finished")
	case o.part != "":
		return o.rename()
	}
	_, err := o.w.Commit(pfs.CommitOptions{NoReplace: !o.set.opts.Force})
	if err == nil {
		o.w.Close(o.set.ctx)
	}
	return err
}

// rename gives a part its name.
func (o *Output) rename() error {
	if !o.set.opts.Force {
		err := pfs.RenameExclusive(o.set.ctx, o.End.FS, o.part, o.End.Path)
		if !errors.Is(err, pfs.Unsupported) {
			return err
		} // else nothing was there when the file got its name
	}
	return o.End.FS.Rename(o.set.ctx, o.part, o.End.Path)
}

// takeBack removes the published files of a set that cannot be completed.
func (s *Outputs) takeBack(published []*Output) error {
	if s.opts.Force {
		return nil
	}
	ctx, cancel := s.cleaning()
	defer cancel()
	for _, o := range published {
		if o.stdout {
			continue
		}
		if err := o.End.FS.Remove(ctx, o.End.Path); err != nil {
			return err
		}
	}
	return nil
}

// cleaning returns a context that outlives an interrupt for a while.
func (s *Outputs) cleaning() (context.Context, context.CancelFunc) {
	const most = 30 * time.Second
	return context.WithTimeout(context.WithoutCancel(s.ctx), most)
}

// Abort discards all unpublished files. After Publish it does nothing.
func (s *Outputs) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.done = true
	ctx, cancel := s.cleaning()
	defer cancel()
	for _, o := range s.list {
		switch {
		case o.w != nil:
			o.w.Close(ctx)
		case o.part != "" && !s.opts.KeepParts:
			_ = o.End.FS.Remove(ctx, o.part) // a dot-file, which the next run of the command replaces
		}
	}
}
