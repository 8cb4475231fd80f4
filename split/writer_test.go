package split

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// disk is where test writers put their files.
type disk struct {
	files    []*memFile
	mostOpen int
	failAt   int // the file whose creation fails, if positive
}

type memFile struct {
	disk    *disk
	name    string
	records []string
	err     error // of Write and Close
	closed  bool
}

var errDisk = errors.New("disk broken")

func (d *disk) create(i int, name string) (RecordWriter, error) {
	if i != len(d.files) {
		return nil, fmt.Errorf("file %d created after %d files", i, len(d.files))
	}
	if d.failAt > 0 && i == d.failAt {
		return nil, errDisk
	}
	f := &memFile{disk: d, name: name}
	d.files = append(d.files, f)
	open := 0
	for _, f := range d.files {
		if !f.closed {
			open++
		}
	}
	d.mostOpen = max(d.mostOpen, open)
	return f, nil
}

func (f *memFile) Write(rec []byte) error {
	f.records = append(f.records, string(rec))
	return f.err
}

func (f *memFile) Close() error {
	if f.closed {
		return errors.New("closed twice")
	}
	f.closed = true
	return f.err
}

// record returns record i, whose size varies.
func record(i int64) []byte { return []byte(fmt.Sprintf("%*d", i*7%23+1, i)) }

// run writes total records by the rule.
func run(t *testing.T, d *disk, r Rule, p Pattern, total int64) (Plan, error) {
	t.Helper()
	w, err := NewWriter(r, p, d.create)
	if err != nil {
		t.Fatal(err)
	}
	buf := []byte{}
	for i := range total {
		buf = append(buf[:0], record(i)...) // overwrites the previous record
		if err := w.Write(buf); err != nil {
			break
		}
	}
	plan, err := w.Close()
	if again, errAgain := w.Close(); !reflect.DeepEqual(plan, again) || errAgain != err {
		t.Errorf("second Close: got %v, %v, want %v, %v", again, errAgain, plan, err)
	}
	if err := w.Write(nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write after Close: got %v, want fs.ErrClosed", err)
	}
	return plan, err
}

// TestWriterCarriesOutThePlan checks for every rule that the plan made ahead, the plan made while
// writing and the files themselves are the same.
func TestWriterCarriesOutThePlan(t *testing.T) {
	rules := map[string]func(n int64) Rule{
		"records": Records, "bytes": func(n int64) Rule { return Bytes(10 * n) },
		"split": PaddleSplit, "convert": PaddleConvert,
		"round robin": func(n int64) Rule { return RoundRobin(int(n)) },
		"files":       func(n int64) Rule { return Files(int(n)) },
	}
	for name, rule := range rules {
		for total := range int64(40) {
			for n := int64(1); n < 9; n++ {
				r := rule(n)
				if r.fixed() && total < n {
					continue
				}
				checkRun(t, fmt.Sprintf("%s %d of %d", name, n, total), r, total)
			}
		}
	}
}

func checkRun(t *testing.T, name string, r Rule, total int64) {
	t.Helper()
	p := pattern(t, "x-%05d-of-%05d", OfCount)
	sizes := func(yield func(int64) bool) {
		for i := range total {
			if !yield(int64(len(record(i)))) {
				return
			}
		}
	}
	if r.NeedsCount() {
		r = r.WithCount(total)
	}
	want, err := r.planSizes(p, sizes)
	if err != nil {
		t.Fatalf("%s: plan: %v", name, err)
	}
	d := &disk{}
	got, err := run(t, d, r, p, total)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %+v, %v, want %+v", name, got, err, want)
	}
	d.check(t, name, got)
	if !r.NeedsSizes() {
		ahead, err := r.Plan(p, total)
		for i := range got.Files {
			got.Files[i].Bytes = 0
		}
		if err != nil || !reflect.DeepEqual(ahead, got) {
			t.Errorf("%s: plan ahead %+v, %v, want %+v", name, ahead, err, got)
		}
	}
}

// check compares the files with the plan: each record in its place, none twice, all closed.
func (d *disk) check(t *testing.T, name string, p Plan) {
	t.Helper()
	seen := map[string]bool{}
	for i, f := range d.files {
		plan := p.Files[i]
		var want []string
		for j := range plan.Records {
			want = append(want, string(record(plan.First+j*plan.Step)))
		}
		if !f.closed || !slices.Equal(f.records, want) {
			t.Errorf("%s: file %d (closed %v) holds %q, want %q", name, i, f.closed, f.records, want)
		}
		for _, rec := range f.records {
			seen[rec] = true
		}
	}
	if len(d.files) != len(p.Files) || int64(len(seen)) != p.Records() {
		t.Errorf("%s: %d files and %d records, want %d and %d", name, len(d.files), len(seen), len(p.Files), p.Records())
	}
}

func TestWriterNames(t *testing.T) {
	tests := []struct {
		name    string
		rule    Rule
		pattern string
		want    []string
	}{
		{"no total in the name", Records(2), "x-%02d", []string{"x-00", "x-01"}},
		{"total not known", Records(2), "x-%02d-of-%02d", []string{"", ""}},
		{"total announced", Records(2).WithCount(3), "x-%02d-of-%02d", []string{"x-00-of-02", "x-01-of-02"}},
		{"total of bytes never known", Bytes(7).WithCount(3), "x-%02d-of-%02d", []string{"", "", ""}},
		{"files of the rule", RoundRobin(2), "x-%02d-of-%02d", []string{"x-00-of-02", "x-01-of-02"}},
	}
	for _, tt := range tests {
		d := &disk{}
		if _, err := run(t, d, tt.rule, pattern(t, tt.pattern, OfCount), 3); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, f := range d.files {
			got = append(got, f.name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: created %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWriterHoldsOneFileOpen(t *testing.T) {
	d := &disk{}
	if _, err := run(t, d, Records(1), pattern(t, "%02d", OfCount), 20); err != nil {
		t.Fatal(err)
	}
	if d.mostOpen != 1 {
		t.Errorf("open at once: got %d, want 1", d.mostOpen)
	}
}

func TestWriterFailures(t *testing.T) {
	p := pattern(t, "%02d", OfCount)
	t.Run("create", func(t *testing.T) {
		if plan, err := run(t, &disk{failAt: 1}, Records(2), p, 9); !errors.Is(err, errDisk) || plan.Files != nil {
			t.Errorf("got %v, %v, want the disk's error and no plan", plan, err)
		}
	})
	t.Run("count", func(t *testing.T) {
		for total, r := range map[int64]Rule{3: RoundRobin(4), 5: Files(2).WithCount(6), 7: Records(2).WithCount(6)} {
			if _, err := run(t, &disk{}, r, p, total); !errors.Is(err, ErrCount) {
				t.Errorf("%d records by %+v: got %v, want ErrCount", total, r, err)
			}
		}
	})
	t.Run("digits", func(t *testing.T) {
		if _, err := run(t, &disk{}, Records(1), pattern(t, "%01d", OfCount), 11); !errors.Is(err, ErrDigits) {
			t.Errorf("got %v, want ErrDigits", err)
		}
	})
	t.Run("write and close", func(t *testing.T) {
		d := &disk{}
		broken := func(i int, name string) (RecordWriter, error) {
			f, err := d.create(i, name)
			d.files[i].err = errDisk
			return f, err
		}
		w, err := NewWriter(RoundRobin(3), p, broken)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := w.Write(nil); !errors.Is(err, errDisk) {
				t.Errorf("Write: got %v, want the disk's error", err)
			}
		}
		if _, err := w.Close(); !errors.Is(err, errDisk) || !d.files[0].closed {
			t.Errorf("Close: got %v (closed %v), want the disk's error", err, d.files[0].closed)
		}
	})
}

// TestWriterBelowIsClosed: a file that fails with fs.ErrClosed is a failure of the set.
func TestWriterBelowIsClosed(t *testing.T) {
	d := &disk{}
	w, err := NewWriter(Records(1), pattern(t, "%02d", OfCount), func(i int, name string) (RecordWriter, error) {
		f, err := d.create(i, name)
		d.files[i].err = fs.ErrClosed
		return f, err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Write(nil)
	if _, err := w.Close(); !errors.Is(err, fs.ErrClosed) || !d.files[0].closed {
		t.Errorf("Close: got %v (closed %v), want fs.ErrClosed", err, d.files[0].closed)
	}
}

func TestWriterAbortWithoutCause(t *testing.T) {
	w, err := NewWriter(Records(1), pattern(t, "%02d", OfCount), (&disk{}).create)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort(nil)
	if _, err := w.Close(); err == nil {
		t.Error("Close after Abort(nil): got no error")
	}
}

func TestWriterAbort(t *testing.T) {
	d, cause := &disk{}, errors.New("source vanished")
	w, err := NewWriter(RoundRobin(3), pattern(t, "%02d", OfCount), d.create)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) {
		if err := w.Write(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	w.Abort(cause)
	if plan, err := w.Close(); !errors.Is(err, cause) || plan.Files != nil {
		t.Errorf("Close after Abort: got %v, %v, want the cause and no plan", plan, err)
	}
	for i, f := range d.files {
		if !f.closed {
			t.Errorf("file %d was left open", i)
		}
	}
}

func TestNewWriterRefuses(t *testing.T) {
	tests := map[string]struct {
		rule    Rule
		pattern Pattern
		want    error
	}{
		"no rule":     {Rule{}, pattern(t, "%02d", OfCount), ErrRule},
		"no count":    {Files(3), pattern(t, "%02d", OfCount), ErrNeedsCount},
		"no pattern":  {Records(3), Pattern{}, ErrPattern},
		"few digits":  {RoundRobin(11), pattern(t, "%01d", OfCount), ErrDigits},
		"few of them": {Records(1).WithCount(11), pattern(t, "%01d", OfCount), ErrDigits},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		if _, err := NewWriter(tt.rule, tt.pattern, (&disk{}).create); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	rec := make([]byte, 100)
	b.SetBytes(int64(len(rec)))
	w, err := NewWriter(Records(1000), pattern(b, "%09d", OfCount), func(int, string) (RecordWriter, error) { return nowhere{}, nil })
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := w.Write(rec); err != nil {
			b.Fatal(err)
		}
	}
}

type nowhere struct{}

func (nowhere) Write([]byte) error { return nil }
func (nowhere) Close() error       { return nil }
