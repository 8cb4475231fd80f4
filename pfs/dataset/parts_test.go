package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/gzip"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// partsBench is a file system with inputs, and the options of a conversion.
type partsBench struct {
	t    *testing.T
	fsys *memfs.FS
	o    Options
}

// newPartsBench writes the inputs, by their names below /in.
func newPartsBench(t *testing.T, o Options, files map[string]string) *partsBench {
	b := &partsBench{t: t, fsys: memfs.New(memfs.Options{}), o: o}
	for name, text := range files {
		p := pfs.Path("/in/" + name)
		if err := pfs.MkdirAll(t.Context(), b.fsys, p.Parent(), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write(p, text)
	}
	b.o.Inputs = []Input{Path(transfer.End{FS: b.fsys, Path: "/in"})}
	b.o.Name, b.o.Lease, b.o.Unit, b.o.Tell = "d", 200*time.Millisecond, 3000, func(text string) { t.Log(text) }
	return b
}

func (b *partsBench) write(p pfs.Path, text string) {
	b.t.Helper()
	entry := pfs.BatchEntry{Path: p, Mode: 0o644, Data: []byte(text), Digest: digest.Bytes([]byte(text))}
	if err := pfs.WriteBatch(b.t.Context(), b.fsys, []pfs.BatchEntry{entry})[0]; err != nil {
		b.t.Fatal(err)
	}
}

// at returns the options with the target dir.
func (b *partsBench) at(dir pfs.Path) Options {
	o := b.o
	o.Dir = transfer.End{FS: b.fsys, Path: dir}
	return o
}

// files returns the content of a directory by name.
func (b *partsBench) files(dir pfs.Path) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	for e, err := range pfs.Entries(b.t.Context(), b.fsys, dir, nil) {
		if err != nil {
			b.t.Fatal(err)
		}
		text, err := recordfile.ReadSmall(b.t.Context(), b.fsys, dir.Join(e.Name), 1<<30)
		if err != nil {
			b.t.Fatal(err)
		}
		all[e.Name] = string(text)
	}
	return all
}

// convert makes the dataset with n processes.
func (b *partsBench) convert(o Options, n int) (*Result, error) {
	run, made, err := BeginParts(b.t.Context(), o, n)
	if err != nil || made != nil {
		return made, err
	}
	return b.work(b.t.Context(), o, run, n)
}

// work runs n processes at once.
func (b *partsBench) work(ctx context.Context, o Options, run string, n int) (*Result, error) {
	var all sync.WaitGroup
	errs := make([]error, n)
	var r *Result
	for i := range n {
		all.Go(func() {
			done, err := ConvertPart(ctx, o, Process{Index: i, Count: n, Run: run})
			if errs[i] = err; i == 0 {
				r = done
			}
		})
	}
	all.Wait()
	return r, errors.Join(errs...)
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../recordio/convert/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func zipped(t *testing.T, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rowGroups returns a Parquet file with row groups of 100 rows.
func rowGroups(t *testing.T, n int64) string {
	t.Helper()
	root := schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{schema.NewInt64Node("n", parquet.Repetitions.Required, -1)}, -1))
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	for g := range n {
		group, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		column, err := group.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]int64, 100)
		for i := range values {
			values[i] = 100*g + int64(i)*7919
		}
		if _, err := column.(*file.Int64ColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(column.Close(), group.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Several processes make the same bytes as one, from every format.
func TestPartsEqual(t *testing.T) {
	var lines, table, quoted strings.Builder
	table.WriteString("n,text,x\n")
	quoted.WriteString("n,text\n")
	for i := range 1000 {
		fmt.Fprintf(&lines, "{\"n\":%d,\"text\":\"%s\"}\n", i, strings.Repeat("ab", i%20))
		fmt.Fprintf(&table, "%d,word %d,%d.5\n", i, i%7, i)
		fmt.Fprintf(&quoted, "%d,\"a\n7,%s\"\n", i, strings.Repeat("b,\n", i%50))
	}
	images := map[string]string{}
	for _, name := range []string{"cat/a.png", "cat/b.jpg", "dog/d.gif", "dog/e.bmp", "dog/f.webp"} {
		images[name] = readTestdata(t, "images/"+name)
	}
	for name, c := range map[string]struct {
		o     Options
		files map[string]string
	}{
		"csv":      {Options{NumShards: 7}, map[string]string{"a.csv": table.String(), "b.csv": "n,text,x\n", "c.csv": table.String()}},
		"quotes":   {Options{LineCount: 30}, map[string]string{"a.csv": quoted.String()}},
		"raw":      {Options{LineCount: 100, Payload: "raw", SkipLines: 3, Format: "text"}, map[string]string{"a": lines.String(), "b": lines.String()}},
		"no end":   {Options{LineCount: 100}, map[string]string{"a.jsonl": strings.TrimSpace(lines.String())}},
		"skip":     {Options{NumShards: 3, SkipBad: true}, map[string]string{"a.jsonl": lines.String() + "{\n" + lines.String() + "1 2\n"}},
		"paddle":   {Options{LineCount: 9, PaddleCompat: true}, map[string]string{"a.jsonl": lines.String()}},
		"gzip":     {Options{LineCount: 99}, map[string]string{"a.jsonl.gz": zipped(t, lines.String()), "b.jsonl": lines.String()}},
		"latin1":   {Options{LineCount: 99, Encoding: "latin1", Format: "text"}, map[string]string{"a": lines.String() + "\xe4\n"}},
		"images":   {Options{NumShards: 2}, images},
		"npy":      {Options{LineCount: 1}, map[string]string{"a.npy": readTestdata(t, "npy/f4.npy"), "b.npy": readTestdata(t, "npy/f4.npy")}},
		"pickle":   {Options{LineCount: 5}, map[string]string{"a.pickle": readTestdata(t, "pickle/times-2.pickle"), "b.pickle": readTestdata(t, "pickle/py3-simple-2.pickle")}},
		"parquet":  {Options{LineCount: 5}, map[string]string{"a.parquet": readTestdata(t, "parquet/nested.parquet"), "b.parquet": readTestdata(t, "parquet/nested.parquet")}},
		"groups":   {Options{LineCount: 70}, map[string]string{"a.parquet": rowGroups(t, 23), "b.parquet": rowGroups(t, 5)}},
		"tfrecord": {Options{NumShards: 2}, map[string]string{"a.tfrecord": readTestdata(t, "tfrecord/examples.tfrecord")}},
		"tar":      {Options{LineCount: 1}, map[string]string{"a.tar": readTestdata(t, "webdataset/samples.tar")}},
		"libsvm":   {Options{LineCount: 400, Format: "libsvm"}, map[string]string{"a": strings.Repeat("1 2:3\n# note\n", 900)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPartsBench(t, c.o, c.files)
			want, err := Convert(t.Context(), b.at("/one"))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 2, 5} {
				dir := pfs.Path(fmt.Sprintf("/of%d", n))
				got, err := b.convert(b.at(dir), n)
				if err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(b.files(dir), b.files("/one")) {
					t.Errorf("%d processes made %v, one %v", n, slices.Sorted(maps.Keys(b.files(dir))), slices.Sorted(maps.Keys(b.files("/one"))))
				}
				got.Stats.Start, got.Stats.End, got.Stats.Lines = 0, 0, 0
				want.Stats.Start, want.Stats.End, want.Stats.Lines = 0, 0, 0
				if a, b := fmt.Sprintf("%+v", got.Stats), fmt.Sprintf("%+v", want.Stats); name != "skip" && a != b {
					t.Errorf("the result is\n%s\nwant\n%s", a, b)
				}
				for i, bad := range got.Stats.FirstBad {
					if w := want.Stats.FirstBad[i]; bad.Error() != w.Error() {
						t.Errorf("%v, want %v", bad, w)
					}
				}
			}
		})
	}
}

// A process that ends in the middle is repeated; one at a time suffices for all but the last step.
func TestPartsRepeated(t *testing.T) {
	b := newPartsBench(t, Options{LineCount: 50}, map[string]string{"a.txt": strings.Repeat("a line of text\n", 2000)})
	if _, err := Convert(t.Context(), b.at("/one")); err != nil {
		t.Fatal(err)
	}
	o := b.at("/two")
	run, _, err := BeginParts(t.Context(), o, 3)
	if err != nil {
		t.Fatal(err)
	}
	for try := range 40 { // each try ends after another number of messages
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		var mu sync.Mutex
		some := o
		some.Tell = func(string) {
			mu.Lock()
			defer mu.Unlock()
			if told++; told > try {
				cancel()
			}
		}
		r, err := b.work(ctx, some, run, 3)
		cancel()
		if err == nil && r != nil {
			break
		}
	}
	if !maps.Equal(b.files("/two"), b.files("/one")) {
		t.Error("the repeated processes made other bytes")
	}
	// A process that is repeated after the end has nothing to do.
	if r, err := b.work(t.Context(), o, run, 3); err != nil || r.Records != 2000 {
		t.Error(r, err)
	}
}

// TestPartsFail checks that the first malformed record, in the order of the inputs, ends all processes, and that
// --resume uses the results of the units that were read.
func TestPartsFail(t *testing.T) {
	good := strings.Repeat("{\"n\":1}\n", 1500)
	b := newPartsBench(t, Options{LineCount: 500}, map[string]string{"a.jsonl": good + "bad 1\n" + good + "bad 2\n" + good})
	_, want := Convert(t.Context(), b.at("/one"))
	o := b.at("/two")
	_, err := b.convert(o, 3)
	if want == nil || err == nil || !strings.Contains(err.Error(), want.Error()) {
		t.Fatalf("%v, want %v", err, want)
	}
	if got := PartsFailure(t.Context(), o); got == nil || got.Error() != want.Error() || pfs.KindOf(got) != pfs.KindOf(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, _, err := BeginParts(t.Context(), o, 3); !errors.Is(err, pfs.Exist) {
		t.Error(err)
	}
	o.Resume, o.SkipBad = true, true
	r, err := b.convert(o, 2)
	if err != nil || r.Bad != 2 || r.Records != 4500 {
		t.Fatal(r, err)
	}
	one := b.at("/skipped")
	one.SkipBad = true
	if _, err := Convert(t.Context(), one); err != nil || !maps.Equal(b.files("/two"), b.files("/skipped")) {
		t.Error("other bytes", err)
	}
	if r, err := b.convert(o, 2); err != nil || !r.Already {
		t.Error(r, err)
	}
}

// TestPartsRefused checks that options are refused with which several processes cannot make equal bytes.
func TestPartsRefused(t *testing.T) {
	b := newPartsBench(t, Options{}, map[string]string{"a.txt": "a\n"})
	for text, o := range map[string]Options{
		"--shuffle": {LineCount: 1, Shuffle: true}, "--num-shards or --line-count": {}, "--format recordio": {LineCount: 1, Format: RecordsFormat},
	} {
		o.Inputs, o.Dir, o.Name = b.o.Inputs, transfer.End{FS: b.fsys, Path: "/out"}, "d"
		if _, _, err := BeginParts(t.Context(), o, 2); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A part that cannot be opened when it is read again is a failure that all processes find.
func TestPartsUnreadable(t *testing.T) {
	b := newPartsBench(t, Options{LineCount: 1}, map[string]string{"a.txt": "a\n"})
	o := b.at("/out")
	run, _, err := BeginParts(t.Context(), o, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newParts(t.Context(), o, Process{Count: 1, Run: run})
	if err != nil {
		t.Fatal(err)
	}
	defer p.c.in.close()
	p.c.work = newStagingDir(b.fsys, p.c.stagingPath(), nil, time.Second)
	p.c.work.run, p.c.work.claim.run = run, run
	if p.prior, err = convert.Prepare(t.Context(), p.c.in.sources(false), p.c.o.convert); err != nil {
		t.Fatal(err)
	}
	gone := convert.Source{Name: "b.txt", Open: func(context.Context) (convert.Content, error) {
		return convert.Content{}, pfs.Errorf("test.Open", "/b.txt", pfs.NotExist, "gone")
	}}
	var r unitResult
	if err := p.scan(t.Context(), 7, unit{[]convert.Source{gone}, true}, 77); err != nil {
		t.Fatal(err)
	}
	if err := p.load(t.Context(), unitName(7), &r); err != nil || r.Failure == nil || r.Failure.Kind != pfs.NotExist || r.Stats.Start != 77 {
		t.Errorf("%+v, %v", r, err)
	}
}
