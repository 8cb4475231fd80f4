package cliio

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Progress is the progress of a transfer.
type Progress struct {
	Done, Total       int64 // bytes
	Moved             int64 // the part of Done moved now, which determines the rate
	Files, FilesTotal int64
	Complete          bool   // Total and FilesTotal are final
	Name              string // the current item
}

// Bar shows a Progress in the last line of a terminal, ten times a second. Writes to it appear
// above that line.
type Bar struct {
	w     io.Writer
	width func() int
	state func() Progress
	now   func() time.Time

	mu    sync.Mutex
	shown bool
	rate  rate
	stop  chan struct{}
	done  chan struct{}
}

// redraw is the interval between updates.
const redraw = 100 * time.Millisecond

// NewBar shows the results of state until Stop.
func NewBar(w io.Writer, width func() int, state func() Progress) *Bar {
	b := &Bar{
		w: w, width: width, state: state, now: time.Now,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go b.run()
	return b
}

func (b *Bar) run() {
	defer close(b.done)
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.draw()
		case <-b.stop:
			return
		}
	}
}

// Stop removes the line.
func (b *Bar) Stop() {
	close(b.stop)
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

func (b *Bar) Write(p []byte) (int, error) { return b.write(b.w, p) }

// Above returns a writer to w, which is on the same screen: its output appears above the bar.
func (b *Bar) Above(w io.Writer) io.Writer { return aboveBar{b, w} }

type aboveBar struct {
	b *Bar
	w io.Writer
}

func (a aboveBar) Write(p []byte) (int, error) { return a.b.write(a.w, p) }

func (b *Bar) write(w io.Writer, p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	return w.Write(p)
}

func (b *Bar) clear() {
	if b.shown {
		io.WriteString(b.w, "\r\x1b[K")
		b.shown = false
	}
}

func (b *Bar) draw() {
	p := b.state()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate.add(b.now(), p.Moved)
	io.WriteString(b.w, "\r"+p.line(b.width()-1, b.rate.perSecond())+"\x1b[K")
	b.shown = true
}

// line formats p in at most width columns. It omits the least important parts first. A rate below 0
// is unknown. Parts that grow, or appear later, have their space reserved, so that nothing moves.
func (p Progress) line(width int, perSecond float64) string {
	parts := []string{p.percent(), p.amount(), p.rate(perSecond), p.eta(perSecond), p.files()}
	line := ""
	for _, part := range parts {
		next := line
		if next != "" && part != "" {
			next += "  "
		}
		next += part
		if Columns(next) > width {
			return line
		}
		line = next
	}
	line = p.meter(width-Columns(line)-2) + line
	if room := width - Columns(line) - 2; room >= 8 && p.Name != "" {
		line += "  " + Shorten(Escape(p.Name), room)
	}
	return line
}

func (p Progress) amount() string {
	done := fmt.Sprintf("%7s", Size(p.Done))
	if !p.Complete {
		return done
	}
	return done + " / " + Size(p.Total)
}

// rate is blank until something has moved, since that is not a standstill.
func (p Progress) rate(perSecond float64) string {
	if perSecond < 0 || p.Moved == 0 {
		return strings.Repeat(" ", len("999 MiB/s"))
	}
	return fmt.Sprintf("%9s", Size(int64(perSecond))+"/s")
}

func (p Progress) fraction() float64 {
	if p.Total <= 0 {
		return 1
	}
	return min(1, float64(p.Done)/float64(p.Total))
}

func (p Progress) percent() string {
	if !p.Complete {
		return ""
	}
	return fmt.Sprintf("%3d%%", int(100*p.fraction()))
}

// meter draws the bar if there is space.
func (p Progress) meter(room int) string {
	const cells = 20
	if !p.Complete || room < cells+12 {
		return ""
	}
	full := int(cells * p.fraction())
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "] "
}

func (p Progress) eta(perSecond float64) string {
	if !p.Complete {
		return ""
	}
	eta := ""
	if perSecond >= 1 && p.Done < p.Total {
		eta = clock(int64(float64(p.Total-p.Done)/perSecond + 0.5))
	}
	return fmt.Sprintf("%-9s", eta)
}

// clock formats the seconds left; "" if they are too many to be meaningful.
func clock(seconds int64) string {
	switch h, m, s := seconds/3600, seconds/60%60, seconds%60; {
	case h >= 100:
		return ""
	case h > 0:
		return fmt.Sprintf("ETA %d:%02d:%02d", h, m, s)
	default:
		return fmt.Sprintf("ETA %d:%02d", m, s)
	}
}

func (p Progress) files() string {
	switch {
	case p.FilesTotal == 1 && (p.Complete || p.Files == 0): // of one of unknown length, too
		return ""
	case p.Complete:
		total := strconv.FormatInt(p.FilesTotal, 10)
		return fmt.Sprintf("%*d / %s files", len(total), p.Files, total)
	}
	if p.FilesTotal > p.Files {
		return fmt.Sprintf("%d / %d+ files", p.Files, p.FilesTotal)
	}
	return fmt.Sprintf("%d files", p.Files)
}

// rate averages over the last seconds, so that it neither jumps nor remembers an outage for ever.
type rate struct {
	samples []sample
}

type sample struct {
	at    time.Time
	bytes int64
}

const rateWindow = 5 * time.Second

func (r *rate) add(at time.Time, bytes int64) {
	r.samples = append(r.samples, sample{at, bytes})
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
}

// perSecond is below 0 until there are two samples.
func (r *rate) perSecond() float64 {
	if len(r.samples) < 2 {
		return -1
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	elapsed := last.at.Sub(first.at).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return max(0, float64(last.bytes-first.bytes)/elapsed)
}
