package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// meanwhile is a Reader that calls then once between two parts of data.
type meanwhile struct {
	data io.Reader
	rest io.Reader
	then func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	n, err := m.data.Read(p)
	if err == io.EOF && m.rest != nil {
		m.then()
		m.data, m.rest = m.rest, nil
		return m.data.Read(p)
	}
	return n, err
}

// TestConvertResumedTwice tries to resume a conversion that is still running: this is refused, and
// the run completes.
func TestConvertResumedTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "table.csv", 50_000, 0)
	table, err := os.ReadFile("table.csv")
	if err != nil {
		t.Fatal(err)
	}
	fsys := newHome(t)
	convert := func(stdin io.Reader, lease time.Duration, dir string, flags ...string) result {
		m := testMain(t, fsys, append([]string{"dataset", "convert", "--format", "csv", "--name-prefix", "x", "--line-count", "1000", "--output-path", dir, "-"}, flags...)...)
		m.Stdin, m.Lease = stdin, lease
		return run(t, m)
	}
	half := bytes.LastIndexByte(table[:len(table)/2], '\n') + 1
	for _, flags := range [][]string{nil, {"--resume"}} {
		dir := home + "/" + strings.Join(append(flags, "out"), "-")
		first := convert(&meanwhile{data: bytes.NewReader(table[:half]), rest: bytes.NewReader(table[half:]), then: func() {
			got := convert(bytes.NewReader(table), 5*time.Second, dir, "--resume")
			if got.code != cliio.Exists || !strings.Contains(got.stderr, "x.convert: already exists: another run is at work there\nhint: wait until it is done, or end it") {
				t.Errorf("the second: code %d: %s", got.code, got.stderr)
			}
		}}, 100*time.Millisecond, dir, flags...)
		if first.code != cliio.Done {
			t.Errorf("the first: code %d: %s", first.code, first.stderr)
		}
		if got := run(t, testMain(t, fsys, "dataset", "verify", dir)); got.code != cliio.Done {
			t.Errorf("verify: code %d: %s", got.code, got.stderr)
		}
	}
}

// TestConvertTakenAway discards the files of a running conversion, which then reports why it stops.
func TestConvertTakenAway(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "table.csv", 50_000, 0)
	table, err := os.ReadFile("table.csv")
	if err != nil {
		t.Fatal(err)
	}
	convert := func(stdin io.Reader, flags ...string) result {
		m := testMain(t, nil, append([]string{"dataset", "convert", "--format", "csv", "--name-prefix", "x", "--line-count", "1000", "-"}, flags...)...)
		m.Stdin, m.Lease = stdin, time.Hour // so that it finds out at its end, not meanwhile
		return run(t, m)
	}
	half := bytes.LastIndexByte(table[:len(table)/2], '\n') + 1
	late := convert(&meanwhile{data: bytes.NewReader(table[:half]), rest: bytes.NewReader(table[half:]), then: func() {
		if got := convert(bytes.NewReader(table), "--output-path", "out", "--restart"); got.code != cliio.Done {
			t.Errorf("the second: code %d: %s", got.code, got.stderr)
		}
	}}, "--output-path", "out")
	if late.code != cliio.Exists || !strings.Contains(late.stderr, "out/.x.convert: changed in the meantime: it is gone: another run has completed the set") {
		t.Errorf("the first: code %d: %s", late.code, late.stderr)
	}
	if got := convert(bytes.NewReader(table), "--output-path", "once"); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	sameFiles(t, "out", "once")
}
