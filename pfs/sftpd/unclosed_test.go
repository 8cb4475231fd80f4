package sftpd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestUnclosed asks for files whose CLOSE is still to come, as programs on sshfs do: the kernel sends it some time after
// close has returned. Another session sees what is published.
func TestUnclosed(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s := gatewaytest.New(t, fsys)
	addr, _ := serve(t, s)
	c, other := dial(t, addr, gatewaytest.Alice), dial(t, addr, gatewaytest.Alice)
	home := pfs.Path("/home/" + gatewaytest.Alice)
	const create, write, add, read = 0x1a, 0x02, 0x06, 0x01
	ok := func(t *testing.T, code uint32) {
		t.Helper()
		if code != 0 {
			t.Fatalf("code %d", code)
		}
	}
	size4 := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4}
	list := func(t *testing.T, dir string) string {
		t.Helper()
		kind, h := c.ask(t, 11, str(dir))
		if kind != 102 {
			t.Fatalf("%q", h)
		}
		var all []byte
		for {
			kind, b := c.ask(t, 12, h)
			if kind != 104 {
				ok(t, c.code(t, 4, h))
				return string(all)
			}
			all = append(all, b...)
		}
	}
	for name, row := range map[string]struct {
		then func(t *testing.T)
		at   pfs.Path // of what is there after CLOSE
		want string
	}{
		"read": {func(t *testing.T) {
			h := c.open(t, "d/f", read)
			if kind, b := c.ask(t, 5, h, number(0), []byte{0, 0, 1, 0}); kind != 103 || string(b[4:]) != "content" {
				t.Errorf("%d %q", kind, b)
			}
			if _, err := fsys.Stat(t.Context(), home+"/d/f"); err == nil {
				t.Error("a read has published the upload")
			}
			ok(t, c.code(t, 4, h))
		}, "d/f", "content"},
		"append": {func(t *testing.T) {
			h := c.open(t, "d/f", add)
			c.write(t, h, []byte(" more"), 7)
			ok(t, c.code(t, 4, h))
		}, "d/f", "content more"},
		"write in the middle": {func(t *testing.T) {
			h := c.open(t, "d/f", write)
			c.write(t, h, []byte("X"), 2)
			ok(t, c.code(t, 4, h))
		}, "d/f", "coXtent"},
		"cut":                     {func(t *testing.T) { ok(t, c.code(t, 10, c.open(t, "d/f", write), size4)) }, "d/f", "cont"},
		"cut by name":             {func(t *testing.T) { ok(t, c.code(t, 9, str("d/f"), size4)) }, "d/f", "cont"},
		"rename":                  {func(t *testing.T) { ok(t, c.code(t, 18, str("d/f"), str("d/g"))) }, "d/g", "content"},
		"rename of its directory": {func(t *testing.T) { ok(t, c.code(t, 18, str("d"), str("e"))) }, "e/f", "content"},
		"link": {func(t *testing.T) {
			ok(t, c.code(t, 200, str("hardlink@openssh.com"), str("d/f"), str("d/g")))
		}, "d/g", "content"},
		"remove": {func(t *testing.T) { ok(t, c.code(t, 13, str("d/f"))) }, "d/f", "none"},
		"list": {func(t *testing.T) {
			if got := list(t, "d"); !bytes.Contains([]byte(got), str("f")) {
				t.Errorf("%q", got)
			}
		}, "d/f", "content"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []pfs.Path{"d", "e"} {
				_ = pfs.RemoveTree(t.Context(), fsys, home.Join(string(dir)))
			}
			ok(t, c.code(t, 14, str("d"), []byte{0, 0, 0, 0}))
			h := c.open(t, "d/f", create)
			c.write(t, h, []byte("content"), 0)
			later, again := c.open(t, "d/f", read), c.open(t, "d/f", write) // used after CLOSE
			row.then(t)
			ok(t, c.code(t, 4, h))
			if name != "remove" {
				if got := string(pfstest.ReadFile(t, fsys, home.Join(string(row.at)))); got != row.want {
					t.Errorf("%q, want %q", got, row.want)
				}
			}
			if n := other.size(t, string(row.at)); name != "remove" && n != uint64(len(row.want)) || name == "remove" && n != ^uint64(0) {
				t.Errorf("another session sees %d bytes", n)
			}
			if row.at == "d/f" && name != "remove" {
				if kind, b := c.ask(t, 5, later, number(0), []byte{0, 0, 1, 0}); kind != 103 || string(b[4:]) != row.want {
					t.Errorf("a read of the first open after CLOSE: %d %q", kind, b)
				}
			}
			ok(t, c.code(t, 4, later))
			if row.at == "d/f" && name != "remove" {
				c.write(t, again, []byte("CO"), 0)
				c.write(t, again, []byte("N"), 2)
				ok(t, c.code(t, 4, again))
				want := "CON" + row.want[3:]
				if got := string(pfstest.ReadFile(t, fsys, home+"/d/f")); got != want {
					t.Errorf("%q after writes through the second open, want %q", got, want)
				}
				if n := other.size(t, "d/f"); n != uint64(len(want)) {
					t.Errorf("another session sees %d bytes after writes through the second open", n)
				}
			}
		})
	}
}

// TestFailedWrite fills the store: the file is not published, whatever the client sends next, and goes on when there is room.
func TestFailedWrite(t *testing.T) {
	fsys := memfs.New(memfs.Options{Capacity: 100_000})
	s := gatewaytest.New(t, fsys)
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	const piece = 40_000
	content := random(3 * piece)
	h := c.open(t, "f", 0x1a)
	c.write(t, h, content[:piece], 0)
	c.write(t, h, content[piece:2*piece], piece)
	for what, code := range map[string]uint32{
		"a write":           c.code(t, 6, h, number(2*piece), str(string(content[2*piece:]))),
		"the next write":    c.code(t, 6, h, number(3*piece), str("x")),
		"a write before it": c.code(t, 6, h, number(0), str("x")),
		"fsync":             c.code(t, 200, str("fsync@openssh.com"), h),
		"a new size":        c.code(t, 10, h, []byte{0, 0, 0, 1}, number(3*piece)),
		"CLOSE":             c.code(t, 4, h),
	} {
		if code != 4 {
			t.Errorf("%s: code %d", what, code)
		}
	}
	name := pfs.Path("/home/" + gatewaytest.Alice + "/f")
	if _, err := fsys.Stat(t.Context(), name); !errors.Is(err, pfs.NotExist) {
		t.Errorf("the file is there: %v", err)
	}
	if n := c.size(t, "f"); n != 2*piece {
		t.Fatalf("%d bytes are staged", n)
	}
	h = c.open(t, "f", 0x0a)
	if code := c.code(t, 6, h, number(2*piece), str(string(content[2*piece:]))); code != 4 {
		t.Errorf("a write without room: code %d", code)
	}
	c.write(t, h, content[2*piece:2*piece+1000], 2*piece)
	if code := c.code(t, 4, h); code != 0 {
		t.Errorf("CLOSE: code %d", code)
	}
	pfstest.WantFile(t, fsys, name, content[:2*piece+1000])
}

// TestFailedAhead has no room for bytes that came early when their turn comes, which is at fsync. CLOSE does not publish the file
// without them.
func TestFailedAhead(t *testing.T) {
	fsys := memfs.New(memfs.Options{Capacity: 100_000})
	s := gatewaytest.New(t, fsys)
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	h := c.open(t, "f", 0x1a)
	c.write(t, h, []byte("begin"), 0)
	c.write(t, h, random(60_000), 50_000)
	if code := c.code(t, 200, str("fsync@openssh.com"), h); code != 4 {
		t.Errorf("fsync: code %d", code)
	}
	if code := c.code(t, 4, h); code != 4 {
		t.Errorf("CLOSE: code %d", code)
	}
	if _, err := fsys.Stat(t.Context(), "/home/"+gatewaytest.Alice+"/f"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// probed is a store that counts the open files. The method that fails holds is refused.
type probed struct {
	*memfs.FS
	fails *atomic.Value
	open  *atomic.Int64
}

func (s probed) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	fsys, err := s.FS.WithOwner(owner)
	if err != nil {
		return nil, err
	}
	s.FS = fsys.(*memfs.FS)
	return s, nil
}

func (s probed) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	if s.fails.Load() == "OpenHandle" {
		return nil, pfs.E("test", name, pfs.Limit, nil)
	}
	h, err := s.FS.OpenHandle(ctx, name, flags, perm)
	if err != nil {
		return nil, err
	}
	return probedHandle{h, s.fails, s.count()}, nil
}

func (s probed) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := s.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return probedFile{f, s.count()}, nil
}

// count counts an open file until closed is called.
func (s probed) count() (closed func()) {
	s.open.Add(1)
	return sync.OnceFunc(func() { s.open.Add(-1) })
}

type probedHandle struct {
	pfs.Handle
	fails  *atomic.Value
	closed func()
}

func (h probedHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if h.fails.Load() == "WriteAt" {
		return 0, pfs.E("test", "", pfs.Limit, nil)
	}
	return h.Handle.WriteAt(ctx, p, off)
}

func (h probedHandle) Close(ctx context.Context) error {
	h.closed()
	return h.Handle.Close(ctx)
}

type probedFile struct {
	pfs.File
	closed func()
}

func (f probedFile) Close() error {
	f.closed()
	return f.File.Close()
}

// TestOpenFilesAreClosed ends the use of files of the store where something else fails: none stays open.
func TestOpenFilesAreClosed(t *testing.T) {
	fsys := probed{memfs.New(memfs.Options{}), new(atomic.Value), new(atomic.Int64)}
	s := gatewaytest.New(t, fsys)
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	name := pfs.Path("/home/" + gatewaytest.Alice + "/f")
	pfstest.WriteFile(t, fsys.FS, name, []byte("0123456789"))
	for _, answer := range []string{"\x00\x01no times\n", "\x00", "\x00\x00\x01no file\n"} { // to T and C lines
		scp, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		scp.Stdin = strings.NewReader(answer)
		if err := scp.Run("scp -f -p f"); err == nil {
			t.Errorf("%q: no error", answer)
		}
		if n := fsys.open.Load(); n != 0 {
			t.Errorf("%q: %d files are open after scp", answer, n)
		}
	}

	sync := func(h []byte) uint32 { return c.code(t, 200, str("fsync@openssh.com"), h) }
	h := c.open(t, "f", 0x0a)
	c.write(t, h, []byte("begin"), 0)
	fsys.fails.Store("WriteAt")
	for range 2 {
		if code := sync(h); code != 4 {
			t.Errorf("fsync of a file that is not completed in place: code %d", code)
		}
		if n := fsys.open.Load(); n != 0 {
			t.Errorf("%d files are open after fsync", n)
		}
	}
	fsys.fails.Store("")
	if code := sync(h); code != 0 {
		t.Errorf("fsync: code %d", code)
	}
	if code := c.code(t, 4, h); code != 0 {
		t.Errorf("CLOSE: code %d", code)
	}
	pfstest.WantFile(t, fsys.FS, name, []byte("begin56789"))

	h = c.open(t, "f", 0x03)
	if n := fsys.open.Load(); n != 1 {
		t.Fatalf("%d files are open", n)
	}
	if err := s.Auth.Accounts().SetPassword(t.Context(), gatewaytest.Alice, "another horse"); err != nil {
		t.Fatal(err)
	}
	if code := c.code(t, 4, h); code != 3 {
		t.Errorf("CLOSE after the password has changed: code %d", code)
	}
	if n := fsys.open.Load(); n != 0 {
		t.Errorf("%d files are open after CLOSE", n)
	}
}

// TestRefusedWrite writes where a store without random writes cannot, or while the store is full of requests. Whatever the client sends
// next, there is an error until it repeats the write, and CLOSE has one, too.
func TestRefusedWrite(t *testing.T) {
	home := pfs.Path("/home/" + gatewaytest.Alice)
	t.Run("append", func(t *testing.T) {
		fsys := memfs.New(memfs.Options{Without: pfs.CanWriteRandom})
		s := gatewaytest.New(t, fsys)
		addr, _ := serve(t, s)
		c := dial(t, addr, gatewaytest.Alice)
		pfstest.WriteFile(t, fsys, home+"/f", []byte("old"))
		h := c.open(t, "f", 0x1a)
		c.write(t, h, []byte("content"), 0)
		for what, code := range map[string]uint32{
			"a write at the begin": c.code(t, 6, h, number(0), str("X")),
			"the next write":       c.code(t, 6, h, number(7), str("more")),
			"the same write":       c.code(t, 6, h, number(0), str("X")),
			"fsync":                c.code(t, 200, str("fsync@openssh.com"), h),
			"a rename":             c.code(t, 18, str("f"), str("g")),
			"CLOSE":                c.code(t, 4, h),
		} {
			if code != 8 {
				t.Errorf("%s: code %d", what, code)
			}
		}
		pfstest.WantFile(t, fsys, home+"/f", []byte("old"))
	})
	for _, repeat := range []bool{true, false} {
		t.Run(fmt.Sprintf("random/repeat=%t", repeat), func(t *testing.T) {
			fsys := probed{memfs.New(memfs.Options{}), new(atomic.Value), new(atomic.Int64)}
			s := gatewaytest.New(t, fsys)
			addr, _ := serve(t, s)
			c := dial(t, addr, gatewaytest.Alice)
			pfstest.WriteFile(t, fsys, home+"/old", []byte("0123456789"))
			for name, want := range map[string]string{"new": "cXntent", "old": "cXntent789"} {
				flags := map[string]byte{"new": 0x1a, "old": 0x0a}[name]
				h := c.open(t, name, flags)
				c.write(t, h, []byte("content"), 0)
				fsys.fails.Store("OpenHandle")
				if code := c.code(t, 6, h, number(1), str("X")); code != 4 {
					t.Errorf("%s: a write that is refused: code %d", name, code)
				}
				fsys.fails.Store("")
				if code := c.code(t, 6, h, number(7), str("more")); code != 4 {
					t.Errorf("%s: the next write: code %d", name, code)
				}
				code := uint32(4)
				if repeat {
					c.write(t, h, []byte("X"), 1)
					code = 0
				}
				if got := c.code(t, 4, h); got != code {
					t.Errorf("%s: CLOSE: code %d, want %d", name, got, code)
				}
				if repeat {
					pfstest.WantFile(t, fsys.FS, home.Join(name), []byte(want))
				}
			}
			if !repeat {
				pfstest.WantFile(t, fsys, home+"/old", []byte("0123456789"))
			}
		})
	}
}

// TestSync syncs a file that is still open: everybody sees it, and it can be written on where the store can. If the file cannot be
// published, then fsync says so, and so does CLOSE.
func TestSync(t *testing.T) {
	for name, without := range map[string]pfs.Capabilities{"random": 0, "append": pfs.CanWriteRandom} {
		t.Run(name, func(t *testing.T) {
			fsys := memfs.New(memfs.Options{Without: without})
			s := gatewaytest.New(t, fsys)
			addr, _ := serve(t, s)
			c, other := dial(t, addr, gatewaytest.Alice), dial(t, addr, gatewaytest.Alice)
			sync := func(h []byte) uint32 { return c.code(t, 200, str("fsync@openssh.com"), h) }
			home := pfs.Path("/home/" + gatewaytest.Alice)
			h := c.open(t, "f", 0x1a)
			n := 0
			for _, piece := range []string{"some", " more", " bytes"} {
				c.write(t, h, []byte(piece), n)
				if code := sync(h); code != 0 {
					t.Fatalf("fsync: code %d", code)
				}
				n += len(piece)
				if got := other.size(t, "f"); got != uint64(n) {
					t.Fatalf("another session sees %d bytes after fsync of %d", got, n)
				}
			}
			want, code := "SOME more bytes", uint32(0)
			if without != 0 {
				want, code = "some more bytes", 8
			}
			if got := c.code(t, 6, h, number(0), str("SOME")); got != code {
				t.Errorf("a write at the begin after fsync: code %d, want %d", got, code)
			}
			if code := c.code(t, 4, h); code != 0 {
				t.Errorf("CLOSE: code %d", code)
			}
			if got := string(pfstest.ReadFile(t, fsys, home+"/f")); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			pfstest.MustMkdir(t, fsys, home+"/d")
			h = c.open(t, "d/f", 0x1a)
			c.write(t, h, []byte("lost"), 0)
			if err := pfs.RemoveTree(t.Context(), fsys, home+"/d"); err != nil {
				t.Fatal(err)
			}
			if code := sync(h); code == 0 {
				t.Error("fsync of a file that cannot be published: no error")
			}
			if code := c.code(t, 4, h); code == 0 {
				t.Error("CLOSE of a file that cannot be published: no error")
			}
		})
	}
}

// TestReplacedAfterSync syncs a file, replaces or removes it, and then writes through the open file. The write fails, and never
// changes another file. Through a file that was renamed while it was open, it goes to that file.
func TestReplacedAfterSync(t *testing.T) {
	for name, row := range map[string]struct {
		change func(t *testing.T, c *raw, fsys pfs.FileSystem, f pfs.Path) error
		code   uint32
		at     string
		want   string
	}{
		"same": {func(*testing.T, *raw, pfs.FileSystem, pfs.Path) error { return nil }, 0, "f", "oldNEW"},
		"replaced": {func(t *testing.T, _ *raw, fsys pfs.FileSystem, f pfs.Path) error {
			return fsys.Rename(t.Context(), f.Parent().Join("g"), f)
		}, 4, "f", "other"},
		"removed": {func(t *testing.T, _ *raw, fsys pfs.FileSystem, f pfs.Path) error { return fsys.Remove(t.Context(), f) }, 2, "g", "other"},
		"renamed": {func(t *testing.T, c *raw, fsys pfs.FileSystem, f pfs.Path) error {
			if code := c.code(t, 18, str("f"), str("f.1")); code != 0 {
				t.Errorf("rename: code %d", code)
			}
			return fsys.Rename(t.Context(), f.Parent().Join("g"), f)
		}, 0, "f.1", "oldNEW"},
	} {
		for _, without := range []pfs.Capabilities{0, pfs.CanWriteRandom} {
			for _, sync := range []bool{true, false} {
				if !sync && name != "renamed" {
					continue
				}
				t.Run(fmt.Sprintf("%s/without=%x/sync=%t", name, uint64(without), sync), func(t *testing.T) {
					fsys := memfs.New(memfs.Options{Without: without})
					s := gatewaytest.New(t, fsys)
					addr, _ := serve(t, s)
					c := dial(t, addr, gatewaytest.Alice)
					home := pfs.Path("/home/" + gatewaytest.Alice)
					pfstest.WriteFile(t, fsys, home+"/g", []byte("other"))
					h := c.open(t, "f", 0x1a)
					c.write(t, h, []byte("old"), 0)
					if sync && c.code(t, 200, str("fsync@openssh.com"), h) != 0 {
						t.Fatal("fsync failed")
					}
					if err := row.change(t, c, fsys, home+"/f"); err != nil {
						t.Fatal(err)
					}
					if code := c.code(t, 6, h, number(3), str("NEW")); code != row.code {
						t.Errorf("write: code %d", code)
					}
					if code := c.code(t, 4, h); code != 0 {
						t.Errorf("CLOSE: code %d", code)
					}
					if got := string(pfstest.ReadFile(t, fsys, home.Join(row.at))); got != row.want {
						t.Errorf("%q, want %q", got, row.want)
					}
				})
			}
		}
	}
}

// TestOverlap writes bytes that came early once more, together with those before them. A store with random writes takes them as any
// file does; another refuses them, and the file is not published. The session goes on, and nothing of the upload stays.
func TestOverlap(t *testing.T) {
	for name, without := range map[string]pfs.Capabilities{"random": 0, "append": pfs.CanWriteRandom} {
		t.Run(name, func(t *testing.T) {
			fsys := memfs.New(memfs.Options{Without: without})
			s := gatewaytest.New(t, fsys)
			addr, _ := serve(t, s)
			c, other := dial(t, addr, gatewaytest.Alice), dial(t, addr, gatewaytest.Alice)
			home := pfs.Path("/home/" + gatewaytest.Alice)
			for i, pieces := range [][2]int{{5, 0}, {5, 8}, {5, 2}, {5, 5}} { // the offsets of two pieces of ten bytes
				file := fmt.Sprint("f", i)
				want := make([]byte, max(pieces[0], pieces[1])+10)
				h := c.open(t, file, 0x1a)
				copy(want[pieces[0]:], "aaaaaaaaaa")
				c.write(t, h, []byte("aaaaaaaaaa"), pieces[0])
				copy(want[pieces[1]:], "bbbbbbbbbb")
				wrote, closed := c.code(t, 6, h, number(uint64(pieces[1])), str("bbbbbbbbbb")), c.code(t, 4, h)
				size := other.size(t, file)
				if without != 0 {
					if wrote != 8 || closed == 0 || size != ^uint64(0) {
						t.Errorf("%v: write: code %d, CLOSE: code %d; another session sees %d bytes", pieces, wrote, closed, size)
					}
					continue
				}
				if wrote != 0 || closed != 0 || size != uint64(len(want)) {
					t.Errorf("%v: write: code %d, CLOSE: code %d; another session sees %d bytes", pieces, wrote, closed, size)
				}
				pfstest.WantFile(t, fsys, home.Join(file), want)
			}
		})
	}
}

// TestRenameOntoRemoved renames to the name of a synced file that another session has removed.
func TestRenameOntoRemoved(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s := gatewaytest.New(t, fsys)
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	home := pfs.Path("/home/" + gatewaytest.Alice)
	pfstest.WriteFile(t, fsys, home+"/g", []byte("other"))
	h := c.open(t, "f", 0x1a)
	c.write(t, h, []byte("old"), 0)
	if code := c.code(t, 200, str("fsync@openssh.com"), h); code != 0 {
		t.Fatalf("fsync: code %d", code)
	}
	if err := fsys.Remove(t.Context(), home+"/f"); err != nil {
		t.Fatal(err)
	}
	if code := c.code(t, 18, str("g"), str("f")); code != 0 {
		t.Errorf("rename: code %d", code)
	}
	pfstest.WantFile(t, fsys, home+"/f", []byte("other"))
}
