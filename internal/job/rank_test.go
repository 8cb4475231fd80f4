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
