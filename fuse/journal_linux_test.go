package fuse

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestMillionNodes measures what a million known files cost: in memory, in the journal, and when another server
// takes over.
func TestMillionNodes(t *testing.T) {
	testbed.Long(t)
	files := []*os.File{nil, nil}
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "state"))
		must(t, err)
		defer f.Close()
		files[i] = f
	}
	root := pfs.Info{Mode: os.ModeDir | 0o755, ID: 1, ModTime: time.Now()}
	open := func() *server {
		s := &server{tree: newTree(root), files: map[uint64]any{}, unsaid: map[uint64]bool{}}
		j, taken, err := openJournal(files, slog.New(slog.DiscardHandler), s.resume)
		must(t, err)
		if s.journal, s.tree.journal = j, j; taken {
			s.resumed()
		}
		return s
	}
	before := heap()
	s := open()
	const dirs, each = 1000, 1000
	for i := range dirs {
		d := s.tree.enter(s.tree.root, fmt.Sprintf("directory%04d", i), pfs.Info{Mode: os.ModeDir | 0o755, ID: uint64(2 + i)})
		for k := range each {
			s.tree.enter(d, fmt.Sprintf("file-%06d", k), pfs.Info{Mode: 0o644, ID: uint64(10_000 + i*each + k), Links: 1})
			if k%30 == 0 {
				s.journal.flush()
			}
		}
	}
	start := time.Now()
	s.journal.limit = 0
	s.rewriteJournal()
	size, err := files[s.journal.current].Seek(0, io.SeekEnd)
	must(t, err)
	t.Logf("%d MiB of memory, %d MiB of journal, rewritten in %v", (heap()-before)>>20, size>>20, time.Since(start))
	runtime.KeepAlive(s)
	s = nil
	start = time.Now()
	s = open()
	t.Logf("taken over in %v, %d MiB of memory", time.Since(start), (heap()-before)>>20)
	n := 0
	for range s.tree.nodes.all() {
		n++
	}
	if n != 1+dirs+dirs*each {
		t.Errorf("%d nodes", n)
	}
	for _, name := range []pfs.Path{"/directory0000/file-000000", "/directory0999/file-000999"} {
		n := s.tree.root
		for e := range name.Names() {
			n = s.tree.child(n, e)
		}
		if at, ok := s.tree.path(n); at != name || !ok || n.refs != 1 {
			t.Errorf("%s is at %s, %v, with %d references", name, at, ok, n.refs)
		}
	}
}

// TestJournal reads a journal whose last batch a kill has cut short.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	files := []*os.File{nil, nil}
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		must(t, err)
		defer f.Close()
		files[i] = f
	}
	var got []string
	open := func() *journal {
		got = nil
		j, _, err := openJournal(files, slog.New(slog.DiscardHandler), func(kind byte, ints []uint64, strings []string) error {
			got = append(got, fmt.Sprint(kind, ints, strings))
			return nil
		})
		must(t, err)
		return j
	}
	request := func(op uint32, number uint64) []byte {
		b := make([]byte, 80)
		binary.NativeEndian.PutUint32(b[4:], op)
		binary.NativeEndian.PutUint64(b[8:], number)
		return b
	}
	const mkdir, getattr = 9, 3
	j := open()
	j.note(recRef, []uint64{7})
	j.begin(request(mkdir, 10))
	j.begin(request(mkdir, 12))
	j.commit(request(mkdir, 12), []byte("an answer of 12"))
	j.begin(request(mkdir, 14))
	j.commit(request(mkdir, 14), []byte("delivered"))
	j.delivered(request(mkdir, 14))
	j.begin(request(getattr, 16))
	j.note(recUnname, []uint64{1}, "x")
	j.flush()
	end := j.size
	j.note(recRef, []uint64{8})
	j.flush()
	must(t, files[0].Truncate(j.size-1))
	for range 2 { // also after it was rewritten
		j = open()
		if want := []string{fmt.Sprint(recRef, []uint64{7}, []string{}), fmt.Sprint(recUnname, []uint64{1}, []string{"x"})}; !slices.Equal(got, want) {
			t.Errorf("records %q, want %q", got, want)
		}
		for number, want := range map[uint64]string{10: "", 12: "an answer of 12", 14: "", 16: ""} {
			if a := string(j.answer(request(mkdir, number|resent))); a != want {
				t.Errorf("answer of %d: %q, want %q", number, a, want)
			}
			if j.answer(request(mkdir, number)) != nil || j.again(number) || j.again(number|resent) != (number == 10) {
				t.Errorf("request %d: again %v", number, j.again(number|resent))
			}
		}
		if j.age == 1 && j.size != end {
			t.Errorf("the journal ends at %d, want %d", j.size, end)
		}
		j.rewrite(func(emit func(kind byte, ints []uint64, strings ...string)) {
			emit(recRef, []uint64{7})
			emit(recUnname, []uint64{1}, "x")
		})
	}
}

// TestJournalFormat reads a record of another format, and compares the shapes of records with those of the format.
func TestJournalFormat(t *testing.T) {
	files := []*os.File{nil, nil}
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "state"))
		must(t, err)
		defer f.Close()
		files[i] = f
	}
	open := func() error {
		_, _, err := openJournal(files, slog.New(slog.DiscardHandler), nil)
		return err
	}
	must(t, open())
	must(t, open())
	_, err := files[0].WriteAt([]byte{JournalFormat + 3}, 4)
	must(t, err)
	want := fmt.Sprintf("the journal of the mount has format %d, and this program reads format %d", JournalFormat+3, JournalFormat)
	if err := open(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	const known = 0x713d2272
	if sum := crc32.ChecksumIEEE(fmt.Append(nil, JournalFormat, shapes)); sum != known {
		t.Errorf("the shapes of records have changed: change JournalFormat, and then known to %#x", sum)
	}
}

// TestKilledInOpen: a kill before an open has its answer leaves no open file, wherever it happens.
func TestKilledInOpen(t *testing.T) {
	for _, op := range []uint32{14, 27, opCreate} {
		files := []*os.File{nil, nil}
		for i := range files {
			f, err := os.Create(filepath.Join(t.TempDir(), "state"))
			must(t, err)
			defer f.Close()
			files[i] = f
		}
		start := func() *server {
			s := &server{tree: newTree(pfs.Info{Mode: fs.ModeDir, ID: 1}), files: map[uint64]any{}, unsaid: map[uint64]bool{}}
			j, taken, err := openJournal(files, slog.New(slog.DiscardHandler), s.resume)
			must(t, err)
			if s.journal, s.tree.journal = j, j; taken {
				s.resumed()
			} else {
				j.noteNode(s.tree.root)
			}
			return s
		}
		request, answer := make([]byte, 80), make([]byte, outHeader+entryOut+16)
		binary.NativeEndian.PutUint32(request[4:], op)
		binary.NativeEndian.PutUint64(request[8:], 10)
		s := start()
		fh := s.add(&openDir{node: s.tree.root})
		s.journal.flush() // of another request
		if s := start(); len(s.files) > 0 {
			t.Errorf("request %d: an open that was not answered has left %v", op, s.files)
		}
		s.journal.limit = 0
		s.rewriteJournal()
		if s := start(); len(s.files) > 0 {
			t.Errorf("request %d: an open that was not answered is in the rewritten journal: %v", op, s.files)
		}
		at := outHeader
		if op == opCreate {
			at += entryOut
		}
		binary.NativeEndian.PutUint64(answer[at:], fh)
		s.commit(request, answer)
		s.journal.limit = 1 << 20
		whole := s.journal.size
		for size := whole; size > journalHead; size-- { // wherever the last batch is cut short
			must(t, files[s.journal.current].Truncate(size))
			r := start()
			if _, open := r.files[fh]; open != (r.journal.inFlight[10] != nil) || open != (size == whole) {
				t.Fatalf("request %d, %d of %d bytes: open %v, answer %v", op, size, whole, open, r.journal.inFlight[10] != nil)
			}
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestReleaseTwice: a server may get the end of an open directory or file that another one has carried out.
func TestReleaseTwice(t *testing.T) {
	store := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, store, "/f", []byte("x"))
	s := &server{fs: store, opts: Options{Logger: slog.New(slog.DiscardHandler)}, tree: newTree(pfs.Info{Mode: fs.ModeDir}), files: map[uint64]any{}, unsaid: map[uint64]bool{}, ctx: t.Context()}
	file, err := store.Open(t.Context(), "/f")
	must(t, err)
	n := s.tree.enter(s.tree.root, "f", pfstest.MustStat(t, store, "/f"))
	o := &openFile{node: n, file: file}
	n.addOpen(o)
	for range 2 {
		s.ReleaseDir(&raw.ReleaseIn{Fh: 7})
		s.Release(nil, &raw.ReleaseIn{Fh: 7})
	}
	d, f := s.add(&openDir{node: s.tree.root}), s.add(o)
	for range 2 {
		s.ReleaseDir(&raw.ReleaseIn{Fh: d})
		s.Release(nil, &raw.ReleaseIn{Fh: f})
	}
	if len(s.files) > 0 || len(n.opens()) > 0 {
		t.Errorf("left: %v, %v", s.files, n.opens())
	}
}

// TestRepeatedNames: UNLINK and RENAME of a dead server leave alone what others have made at the name since then.
func TestRepeatedNames(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := &server{fs: store, opts: Options{Logger: slog.New(slog.DiscardHandler)}, tree: newTree(pfs.Info{Mode: fs.ModeDir}), ctx: t.Context()}
	s.journal = &journal{unsure: map[uint64]bool{10: true}}
	h := raw.InHeader{Unique: 10 | resent, NodeId: 1}
	know := func(name, data string) {
		pfstest.WriteFile(t, store, pfs.Path("/"+name), []byte(data))
		s.tree.enter(s.tree.root, name, pfstest.MustStat(t, store, pfs.Path("/"+name)))
	}
	want := func(name, data string) {
		t.Helper()
		if got := pfstest.ReadFile(t, store, pfs.Path("/"+name)); string(got) != data {
			t.Errorf("%s has %q, want %q", name, got, data)
		}
	}
	for _, carriedOut := range []bool{false, true} {
		know("f", "old")
		if carriedOut {
			must(t, store.Remove(t.Context(), "/f"))
			pfstest.WriteFile(t, store, "/f", []byte("new"))
		}
		if status := s.Unlink(nil, &h, "f"); status != raw.OK {
			t.Errorf("unlink: %v", status)
		}
		if carriedOut {
			want("f", "new")
		} else if _, err := store.Stat(t.Context(), "/f"); pfs.KindOf(err) != pfs.NotExist {
			t.Errorf("the file is still there: %v", err)
		}

		know("g", "old")
		if carriedOut {
			must(t, store.Rename(t.Context(), "/g", "/h"))
			pfstest.WriteFile(t, store, "/g", []byte("new"))
		}
		if status := s.Rename(nil, &raw.RenameIn{InHeader: h, Newdir: 1}, "g", "h"); status != raw.OK {
			t.Errorf("rename: %v", status)
		}
		want("h", "old")
		if carriedOut {
			want("g", "new")
		}
	}
}
