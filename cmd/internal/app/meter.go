package app

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// Meter counts the progress of a command that reads files from start to end, and shows a
// progress bar on a terminal. Its methods accept a nil Meter and are safe for concurrent use.
type Meter struct {
	Done, total       atomic.Int64 // bytes
	files, filesTotal atomic.Int64
	name              atomic.Pointer[string]
	stop              func()
}

// StartMeter returns a Meter for total bytes, or an unknown number if negative, in the given
// number of files. It shows the bar until End, unless quiet. Commands that print results
// meanwhile pass quiet if OnScreen.
func (a *App) StartMeter(quiet bool, total int64, files int) *Meter {
	m := &Meter{stop: func() {}}
	m.total.Store(total)
	m.filesTotal.Store(int64(files))
	if !quiet && a.Terminal(a.Main.Stderr) {
		m.stop = a.StartBar(m.progress)
	}
	return m
}

// StartBar shows a progress bar until stop is called. Output to the same terminal appears
// above the bar.
func (a *App) StartBar(progress func() cliio.Progress) (stop func()) {
	stderr := a.Main.Stderr
	bar := cliio.NewBar(stderr, func() int { return cliio.Width(stderr) }, progress)
	old := a.Stderr.Set(bar)
	if a.OnScreen() {
		a.stdout.Set(bar.Above(a.Main.Stdout))
	}
	return func() {
		bar.Stop()
		a.stdout.Set(a.Main.Stdout)
		a.Stderr.Set(old)
	}
}

// OnScreen reports whether results go to a terminal.
func (a *App) OnScreen() bool { return cliio.IsTerminal(a.Main.Stdout) }

// End removes the bar. A second call does nothing.
func (m *Meter) End() {
	if m != nil {
		m.stop()
		m.stop = func() {}
	}
}

func (m *Meter) progress() cliio.Progress {
	p := cliio.Progress{
		Done: m.Done.Load(), Total: m.total.Load(), Moved: m.Done.Load(),
		Files: m.files.Load(), FilesTotal: m.filesTotal.Load(),
	}
	p.Complete = p.Total >= 0
	p.Total = max(p.Total, p.Done)
	if name := m.name.Load(); name != nil {
		p.Name = *name
	}
	return p
}

// Begin sets the current file.
func (m *Meter) Begin(name string) {
	if m != nil {
		m.name.Store(&name)
	}
}

// Finished counts a file.
func (m *Meter) Finished() {
	if m != nil {
		m.files.Add(1)
	}
}

// Add counts bytes.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.Done.Add(n)
	}
}

// switchWriter is standard output or standard error. While there is a progress bar, it writes
// above the bar.
type switchWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *switchWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Set makes w the writer and returns the previous one.
func (s *switchWriter) Set(w io.Writer) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.w
	s.w = w
	return old
}
