package main

import (
	"io"
	"sync/atomic"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// meter is how far a command is that reads files from their beginning to their end,
// and shows it where there is a terminal. All methods work on nil, and may be called
// from any goroutine.
type meter struct {
	done, total       atomic.Int64 // bytes read, and to be read
	files, filesTotal atomic.Int64
	name              atomic.Pointer[string]
	stop              func()
}

// startMeter begins to show a bar for total bytes in so many files (total < 0: not
// known) until end, unless quiet. A command that prints results meanwhile is quiet
// where onScreen.
func (d *deps) startMeter(quiet bool, total int64, files int) *meter {
	m := &meter{stop: func() {}}
	m.total.Store(total)
	m.filesTotal.Store(int64(files))
	if !quiet && d.terminal(d.main.Stderr) {
		m.stop = d.startBar(m.progress)
	}
	return m
}

// startBar shows a bar until stop. What is printed meanwhile, and goes to the same screen,
// is printed above it.
func (d *deps) startBar(progress func() cliio.Progress) (stop func()) {
	stderr := d.main.Stderr
	bar := cliio.NewBar(stderr, func() int { return cliio.Width(stderr) }, progress)
	old := d.stderr.set(bar)
	if d.onScreen() {
		d.stdout.set(bar.Above(d.main.Stdout))
	}
	return func() {
		bar.Stop()
		d.stdout.set(d.main.Stdout)
		d.stderr.set(old)
	}
}

// onScreen reports whether results go to a terminal.
func (d *deps) onScreen() bool { return cliio.IsTerminal(d.main.Stdout) }

// end removes the bar. A second call does nothing.
func (m *meter) end() {
	if m != nil {
		m.stop()
		m.stop = func() {}
	}
}

func (m *meter) progress() cliio.Progress {
	p := cliio.Progress{
		Done: m.done.Load(), Total: m.total.Load(), Moved: m.done.Load(),
		Files: m.files.Load(), FilesTotal: m.filesTotal.Load(),
	}
	p.Complete = p.Total >= 0
	p.Total = max(p.Total, p.Done)
	if name := m.name.Load(); name != nil {
		p.Name = *name
	}
	return p
}

// begin says which file is worked on now.
func (m *meter) begin(name string) {
	if m != nil {
		m.name.Store(&name)
	}
}

// finished counts a file.
func (m *meter) finished() {
	if m != nil {
		m.files.Add(1)
	}
}

// add counts bytes.
func (m *meter) add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// reader counts what is read from r.
func (m *meter) reader(r io.Reader) io.Reader {
	if m == nil {
		return r
	}
	return &meteredReader{r: r, m: m}
}

type meteredReader struct {
	r io.Reader
	m *meter
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.m.add(int64(n))
	return n, err
}
