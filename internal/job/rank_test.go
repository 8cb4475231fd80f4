package job

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestExitRecord(t *testing.T) {
	d := RankDir(t.TempDir())
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	if e, err := d.ReadExit(); e != nil || err != nil {
		t.Fatalf("before the end: %v, %v", e, err)
	}
	if err := d.Reserve(); err != nil {
		t.Fatal(err)
	}
	if e, err := d.ReadExit(); e != nil || err != nil {
		t.Fatalf("with a reservation: %v, %v", e, err)
	}
	want := &Exit{Code: 137, Signal: "SIGKILL", Started: time.Unix(1, 0).UTC(), Ended: time.Unix(2, 5).UTC()}
	if err := d.WriteExit(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadExit()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(d.Run(), exitName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadExit(); err == nil {
		t.Error("a damaged record is no error")
	}
}

func TestLogLine(t *testing.T) {
	for _, l := range []LogLine{
		{time.Unix(1, 5).UTC(), Stdout, false, []byte("loss 0.5")},
		{time.Unix(1, 0).UTC(), Stderr, true, []byte("  two  spaces ")},
		{time.Unix(1, 0).UTC(), Stderr, false, []byte{}},
	} {
		b := l.Append(nil)
		got, ok := ParseLogLine(b[:len(b)-1])
		if !ok || !reflect.DeepEqual(got, l) {
			t.Errorf("%q: %+v, %v", b, got, ok)
		}
	}
	for _, s := range []string{"", "x", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z stdout", "2026-01-01T00:00:00Z stdin F x", "yesterday stdout F x"} {
		if _, ok := ParseLogLine([]byte(s)); ok {
			t.Errorf("%q is a line", s)
		}
	}
}

func TestLogLines(t *testing.T) {
	var log []byte
	for i := range 10 {
		log = LogLine{Time: time.Unix(int64(i), 0).UTC(), Stream: Stdout, Text: []byte{byte('0' + i)}}.Append(log)
		log = append(log, "half a line\n"...)
	}
	for _, test := range []struct {
		opts LogOptions
		want string
	}{
		{LogOptions{Lines: -1}, "0123456789"},
		{LogOptions{Lines: 3}, "789"},
		{LogOptions{Lines: 0}, ""},
		{LogOptions{Lines: 100}, "0123456789"},
		{LogOptions{Lines: 4, Since: time.Unix(8, 0)}, "89"},
	} {
		got := ""
		err := LogLines(bytes.NewReader(log), test.opts, func(l LogLine) error {
			b := AppendWorkerLine(nil, "trainer-1", l)
			worker, back, ok := ParseWorkerLine(b[:len(b)-1])
			if !ok || worker != "trainer-1" {
				t.Errorf("%q: %q, %v", b, worker, ok)
			}
			got += string(back.Text)
			return nil
		})
		if got != test.want || err != nil {
			t.Errorf("%+v: %q, %v", test.opts, got, err)
		}
	}
}

// TestLogSeen: lines of the store are recognized in the log of a node, which notes them later, and no others are.
func TestLogSeen(t *testing.T) {
	at := func(ms int, stream, text string) LogLine {
		return LogLine{Time: time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond), Stream: stream, Text: []byte(text)}
	}
	s := &LogSeen{}
	for _, l := range []LogLine{at(0, Stdout, "begin"), at(100, Stdout, "step"), at(90, Stderr, "warning"), at(200, Stdout, "step")} {
		s.Add(l)
	}
	skip := s.Skip()
	for _, c := range []struct {
		line LogLine
		want bool
	}{
		{at(1, Stdout, "begin"), true},
		{at(103, Stdout, "warning"), true}, // a node may not know the stream
		{at(104, Stdout, "step"), true},
		{at(200, Stdout, "step"), true},
		{at(300, Stdout, "step"), false},    // the next one
		{at(5000, Stdout, "begin"), false},  // of another run
		{at(5100, Stdout, "finish"), false}, // another text
	} {
		if got := skip(c.line); got != c.want {
			t.Errorf("%v %s: %v", c.line.Time, c.line.Text, got)
		}
	}
	skip = s.Skip()
	if skip(at(4000, Stdout, "begin")) || skip(at(50, Stdout, "step")) || !skip(at(1100, Stdout, "step")) {
		t.Error("a line that is too late or too early is recognized, or one a second later is not")
	}
	for i := range maxSeen {
		s.Add(at(10_000+i, Stdout, "more"))
	}
	if skip = s.Skip(); !skip(at(200, Stdout, "step")) || skip(at(10_000+maxSeen, Stdout, "another")) {
		t.Error("lines that are no longer compared are not recognized by their time")
	}
}
