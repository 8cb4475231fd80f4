package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// TestStagingHasOneOwner lets two runs begin that have both found nothing in the way: one
// of them has the directory. They made the shards of one set out of the records of both.
func TestStagingHasOneOwner(t *testing.T) {
	ctx, fsys := t.Context(), memfs.New(memfs.Options{})
	first := &stagingDir{fs: fsys, dir: "/.x.convert", job: []byte("a"), run: "1111111111"}
	second := &stagingDir{fs: fsys, dir: "/.x.convert", job: []byte("b"), run: "2222222222"}
	if err := first.begin(ctx); err != nil {
		t.Fatal(err)
	}
	if err := second.begin(ctx); !errors.Is(err, pfs.Exist) || !strings.Contains(err.Error(), "another run has begun") {
		t.Errorf("the second: %v", err)
	}
	if err := first.still(ctx); err != nil {
		t.Errorf("the first: %v", err)
	}
	if a, b := first.part(7), second.part(7); a == b {
		t.Errorf("both write %v", a)
	}
	if err := first.remove(ctx); err != nil {
		t.Fatal(err)
	}
	if err := first.still(ctx); !errors.Is(err, pfs.Conflict) {
		t.Errorf("without its directory: %v", err)
	}
}

func TestIsPart(t *testing.T) {
	for name, want := range map[string]bool{
		"00007.1234567890": true, "00008.1234567890": false, "00007": false, "00007.": false, "": false,
		"00007.123456789": false, "00007./../../etc": false, "../x": false,
	} {
		if got := isPart(name, 7); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

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

// TestConvertTakenOver goes on with a run that is still at work: the set of the one that
// is done first stays whole, and the other says why it is not done.
func TestConvertTakenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "table.csv", 50_000, 0)
	table, err := os.ReadFile("table.csv")
	if err != nil {
		t.Fatal(err)
	}
	convert := func(stdin io.Reader, flags ...string) result {
		m := testMain(t, nil, append([]string{"dataset", "convert", "--format", "csv", "--name-prefix", "x", "--line-count", "1000", "-"}, flags...)...)
		m.Stdin = stdin
		return run(t, m)
	}
	half := bytes.LastIndexByte(table[:len(table)/2], '\n') + 1
	late := convert(&meanwhile{data: bytes.NewReader(table[:half]), rest: bytes.NewReader(table[half:]), then: func() {
		if got := convert(bytes.NewReader(table), "--output-path", "out", "--resume"); got.code != cliio.Done {
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
