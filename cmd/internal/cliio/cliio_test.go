package cliio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

func TestCodeOfEveryKind(t *testing.T) {
	for _, k := range pfs.Kinds() {
		if _, ok := codeOf[k]; !ok {
			t.Errorf("Kind %v has no exit code", k)
		}
	}
	if len(codeOf) != len(pfs.Kinds()) {
		t.Errorf("%d exit codes for %d Kinds", len(codeOf), len(pfs.Kinds()))
	}
}

func TestCodeOf(t *testing.T) {
	tests := []struct {
		err  error
		want Code
	}{
		{nil, Done},
		{errors.New("x"), Failed},
		{fmt.Errorf("x: %w", cliargs.Usagef("y")), Usage},
		{fmt.Errorf("x: %w", pfs.NotExist), NotFound},
		{pfs.E("x", "/a", pfs.Quota, nil), Failed},
		{os.ErrPermission, Denied},
		{context.Canceled, Interrupted},
		{Reported(Partly), Partly},
	}
	for _, tt := range tests {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
	for _, c := range Codes() {
		if c != Failed && c.String() == Failed.String() {
			t.Errorf("code %d has no text", c)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true, "LocalHost": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.1": false, "host": false,
		"localhost.example.org": false, "a.localhost": false, "127.0.0.1.example.org": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestTally(t *testing.T) {
	missing, denied, stopped := error(pfs.NotExist), error(pfs.Permission), error(pfs.Canceled)
	tests := []struct {
		errs []error
		want Code
	}{
		{nil, Done},
		{[]error{nil, nil}, Done},
		{[]error{missing}, NotFound},
		{[]error{missing, missing}, NotFound},
		{[]error{missing, nil}, Partly},
		{[]error{missing, denied}, Partly},
		{[]error{nil, Reported(Denied)}, Partly},
		{[]error{nil, missing, stopped}, Interrupted},
	}
	for _, tt := range tests {
		reported := 0
		tally := NewTally(func(error) { reported++ })
		want := 0
		for _, err := range tt.errs {
			tally.Add(err)
			if _, already := err.(Reported); err != nil && !already {
				want++
			}
		}
		if got := CodeOf(tally.Err()); got != tt.want || reported != want {
			t.Errorf("%v: code %d with %d reports, want %d with %d", tt.errs, got, reported, tt.want, want)
		}
	}
}

func TestSizes(t *testing.T) {
	tests := []struct {
		n           int64
		long, short string
	}{
		{0, "0 B", "0"},
		{1023, "1023 B", "1023"},
		{1024, "1.0 KiB", "1.0K"},
		{1536, "1.5 KiB", "1.5K"},
		{10 << 10, "10 KiB", "10K"},
		{1<<20 - 1, "1.0 MiB", "1.0M"},
		{64 << 20, "64 MiB", "64M"},
		{5 << 40, "5.0 TiB", "5.0T"},
		{1<<63 - 1, "8.0 EiB", "8.0E"},
	}
	for _, tt := range tests {
		if got := Size(tt.n); got != tt.long {
			t.Errorf("Size(%d) = %q, want %q", tt.n, got, tt.long)
		}
		if got := ShortSize(tt.n); got != tt.short {
			t.Errorf("ShortSize(%d) = %q, want %q", tt.n, got, tt.short)
		}
	}
}

func TestParseSize(t *testing.T) {
	tests := []struct {
		in   string
		want int64 // -1: an error
	}{
		{"0", 0}, {"4096", 4096}, {"4096B", 4096}, {"10M", 10 << 20}, {"10m", 10 << 20}, {"10MiB", 10 << 20},
		{"10MB", 10_000_000}, {"1.5G", 3 << 29}, {"1k", 1024}, {"1T", 1 << 40},
		{"", -1}, {"M", -1}, {"-1", -1}, {"10X", -1}, {"10MiBs", -1}, {"1e3", 1000}, {"99999E", -1}, {"NaN", -1}, {"10 M", -1},
	}
	for _, tt := range tests {
		got, err := ParseSize(tt.in)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain ünï 中文 ~@", "plain ünï 中文 ~@"},
		{`back\slash`, `back\slash`},
		{"a\nb\tc\x1b[31m\\", `a\nb\tc\x1b[31m\\`},
		{"x\u202egpj", `x\u202egpj`},
		{"bad\xffbyte", `bad\xffbyte`},
		{"\u009b", `\u009b`},
	}
	for _, tt := range tests {
		if got := Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestShorten(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcdef", 4, "…def"}, {"中文字", 5, "…文字"}, {"abc", 1, "…"}, {"abc", 0, ""},
	}
	for _, tt := range tests {
		if got := Shorten(tt.in, tt.n); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestProgressLineFits(t *testing.T) {
	p := Progress{Done: 1 << 29, Total: 1 << 30, Moved: 1 << 29, Files: 3, FilesTotal: 12, Complete: true, Name: "/pfs/dc/home/alice/数据/part-00001"}
	for width := range 160 {
		line := p.line(width, 1<<20)
		if got := Columns(line); got > width {
			t.Fatalf("width %d: %q has %d columns", width, line, got)
		}
	}
	const want = "[==========          ]  50%  512 MiB / 1.0 GiB  1.0 MiB/s  ETA 8:32    3 / 12 files  …/part-00001"
	if got := p.line(98, 1<<20); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.Complete = false
	if got, want := p.line(46, 0), "512 MiB      0 B/s  3 / 12+ files  …part-00001"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	pipe := Progress{Done: 1 << 29, Moved: 1 << 29, FilesTotal: 1, Name: "standard input"}
	if got := pipe.line(40, 0); strings.Contains(got, "files") {
		t.Errorf("of a pipe: %q", got)
	}
}

// TestProgressNameStays checks that the name of the file does not jump while a transfer goes from
// nothing known to its end.
func TestProgressNameStays(t *testing.T) {
	p := Progress{Total: 1 << 30, FilesTotal: 120, Complete: true, Name: "NAME"}
	at := strings.Index(p.line(120, -1), "NAME")
	if line := p.line(120, -1); at < 0 || strings.Contains(line, "B/s") {
		t.Errorf("first line %q: want a name and no rate", line)
	}
	for _, tt := range []struct {
		done, files int64
		perSecond   float64
	}{{0, 0, 0}, {512, 0, 0}, {1023, 1, 900}, {1 << 20, 11, 1 << 20}, {999 << 20, 119, 999 << 20}, {1 << 30, 120, 5}} {
		p.Done, p.Moved, p.Files = tt.done, tt.done, tt.files
		if line := p.line(120, tt.perSecond); strings.Index(line, "NAME") != at {
			t.Errorf("%q: the name is at %d, want %d", line, strings.Index(line, "NAME"), at)
		}
	}
}

func TestRate(t *testing.T) {
	var r rate
	start := time.Unix(0, 0)
	if got := r.perSecond(); got >= 0 {
		t.Errorf("without samples: %v, want less than 0", got)
	}
	for i := range 100 { // 10 seconds of 1000 bytes a second, then nothing
		r.add(start.Add(time.Duration(i)*redraw), int64(i)*100)
	}
	if got := r.perSecond(); got < 990 || got > 1010 {
		t.Errorf("rate = %v, want 1000", got)
	}
	for i := 100; i < 200; i++ {
		r.add(start.Add(time.Duration(i)*redraw), 9900)
	}
	if got := r.perSecond(); got != 0 {
		t.Errorf("rate after a standstill = %v, want 0", got)
	}
	if len(r.samples) > 60 {
		t.Errorf("%d samples kept", len(r.samples))
	}
}

func TestBarKeepsMessagesApart(t *testing.T) {
	var out bytes.Buffer
	b := &Bar{w: &out, width: func() int { return 40 }, state: func() Progress { return Progress{Done: 5} }, now: time.Now}
	b.draw()
	fmt.Fprintln(b, "a message")
	b.draw()
	fmt.Fprintln(b.Above(&out), "a result")
	b.draw()
	b.clear()
	const line = "\r    5 B             0 files\x1b[K"
	want := line + "\r\x1b[K" + "a message\n" + line + "\r\x1b[K" + "a result\n" + line + "\r\x1b[K"
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Stop waits for the goroutine that draws: a bar that goes on would keep this from ending.
func TestBarStops(t *testing.T) {
	b := NewBar(io.Discard, func() int { return 80 }, func() Progress { return Progress{} })
	b.Stop()
}

func TestPrinter(t *testing.T) {
	var out, errs bytes.Buffer
	p := &Printer{Program: "paddlectl", Command: "ls", Out: NewOutput(&out), Err: &errs}
	p.Message("%s: %v", "a\nb", pfs.NotExist)
	p.Note("once")
	p.Note("once")
	p.Printf("%s\n", p.Name("x\x1by"))
	if err := p.JSON(map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := p.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "x\\x1by\n{\"a\":1}\n"; got != want {
		t.Errorf("out = %q, want %q", got, want)
	}
	if got, want := errs.String(), "paddlectl: ls: a\\nb: no such file or directory\npaddlectl: ls: once\n"; got != want {
		t.Errorf("err = %q, want %q", got, want)
	}
	p.Plain = true
	if got := p.Name("x\x1by"); got != "x\x1by" {
		t.Errorf("plain name = %q", got)
	}
}

// signalWriter reports each write.
type signalWriter chan string

func (w signalWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

func TestOutputFlushesByItself(t *testing.T) {
	w := make(signalWriter, 1)
	o := NewOutput(w)
	fmt.Fprint(o, "a")
	fmt.Fprint(o, "b")
	if got := <-w; got != "ab" {
		t.Errorf("got %q, want both writes in one", got)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestOutputKeepsItsError(t *testing.T) {
	o := NewOutput(failingWriter{})
	fmt.Fprint(o, "a")
	if err := o.Flush(); err != io.ErrShortWrite {
		t.Errorf("Flush = %v, want %v", err, io.ErrShortWrite)
	}
	if err := o.Flush(); err != io.ErrShortWrite {
		t.Errorf("second Flush = %v, want %v", err, io.ErrShortWrite)
	}
}
