package sftpd_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/crypto/ssh"
)

// raw is a client that sends any packet.
type raw struct {
	*ssh.Client
	in  io.WriteCloser
	out *bufio.Reader
}

func dialSSH(addr, user, password string) (*ssh.Client, error) {
	return ssh.Dial("tcp", addr, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.Password(password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute,
	})
}

func dial(t testing.TB, addr, user string) *raw {
	t.Helper()
	c, err := dialSSH(addr, user, gatewaytest.Password)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &raw{Client: c}
	r.begin(t)
	return r
}

// begin begins a session of SFTP.
func (c *raw) begin(t testing.TB) {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	c.in, _ = s.StdinPipe()
	out, _ := s.StdoutPipe()
	c.out = bufio.NewReader(out)
	if err := s.RequestSubsystem("sftp"); err != nil {
		t.Fatal(err)
	}
	c.send([]byte{1, 0, 0, 0, 3})
	if kind, _ := c.receive(t); kind != 2 {
		t.Fatalf("answer of type %d to init", kind)
	}
}

func (c *raw) send(packet []byte) {
	_, _ = c.in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...))
}

func (c *raw) receive(t testing.TB) (kind byte, rest []byte) {
	t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(c.out, head[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c.out, b); err != nil {
		t.Fatal(err)
	}
	return b[0], b[1:]
}

func str(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// ask sends a request with fields and returns the answer without its ID.
func (c *raw) ask(t testing.TB, kind byte, fields ...[]byte) (byte, []byte) {
	t.Helper()
	b := []byte{kind, 0, 0, 0, 7}
	for _, f := range fields {
		b = append(b, f...)
	}
	c.send(b)
	answer, rest := c.receive(t)
	return answer, rest[4:]
}

// code returns the code of a status.
func (c *raw) code(t testing.TB, kind byte, fields ...[]byte) uint32 {
	t.Helper()
	answer, rest := c.ask(t, kind, fields...)
	if answer != 101 {
		t.Fatalf("answer of type %d, want a status", answer)
	}
	return binary.BigEndian.Uint32(rest)
}

func (c *raw) open(t testing.TB, name string, flags byte) []byte {
	t.Helper()
	kind, h := c.ask(t, 3, str(name), []byte{0, 0, 0, flags, 0, 0, 0, 0})
	if kind != 102 {
		t.Fatalf("open %s: %q", name, h)
	}
	return h
}

func (c *raw) write(t testing.TB, h, p []byte, off int) {
	t.Helper()
	if code := c.code(t, 6, h, number(uint64(off)), str(string(p))); code != 0 {
		t.Fatalf("write at %d: code %d", off, code)
	}
}

// size returns the size of a file; the largest number if there is none.
func (c *raw) size(t testing.TB, name string) uint64 {
	t.Helper()
	kind, b := c.ask(t, 17, str(name))
	if kind != 105 {
		return ^uint64(0)
	}
	return binary.BigEndian.Uint64(b[4:])
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// TestWritesOutOfOrder writes an upload as parallel clients do, and then as programs on sshfs do.
func TestWritesOutOfOrder(t *testing.T) {
	w := newWorld(t)
	c := dial(t, w.addr, gatewaytest.Alice)
	content := random(3 << 20)
	const piece = 32 << 10
	h := c.open(t, "window", 0x1a)
	for block := 0; block < len(content); block += 16 * piece {
		for i := 15; i >= 0; i-- {
			if off := block + i*piece; off < len(content) {
				c.write(t, h, content[off:off+piece], off)
			}
		}
	}
	if code := c.code(t, 4, h); code != 0 {
		t.Fatal(code)
	}
	w.wantFile(t, "window", content)

	h = c.open(t, "gap", 0x1a)
	c.write(t, h, []byte("end"), 10_000_000)
	c.write(t, h, []byte("begin"), 0)
	c.write(t, h, []byte("BE"), 0) // it goes on in place
	if code := c.code(t, 4, h); code != 0 {
		t.Fatal(code)
	}
	want := make([]byte, 10_000_003)
	copy(want, "BEgin")
	copy(want[10_000_000:], "end")
	w.wantFile(t, "gap", want)

	h = c.open(t, "sparse", 0x1a)
	c.write(t, h, []byte("x"), 1<<30) // more than is filled with zeros
	if code := c.code(t, 4, h); code != 0 {
		t.Fatal(code)
	}
	if info, err := w.Store.Stat(t.Context(), "/home/"+gatewaytest.Alice+"/sparse"); err != nil || info.Size != 1<<30+1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestHostilePaths sends the corpus of path tricks: nothing of bob is seen.
func TestHostilePaths(t *testing.T) {
	w := newWorld(t)
	w.Session(t, gatewaytest.Bob, "test") // makes the home
	w.Session(t, gatewaytest.Alice, "test")
	pfstest.WriteFile(t, w.Store, "/home/bob/secret", []byte("the secret"))
	pfstest.MustLink(t, w.Store, "/pfs/dc/home/bob", "/home/"+pfs.Path(gatewaytest.Alice)+"/escape")
	pfstest.MustLink(t, w.Store, "..", "/home/"+pfs.Path(gatewaytest.Alice)+"/escape-up")
	c := dial(t, w.addr, gatewaytest.Alice)
	for _, name := range pfstest.HostilePaths {
		for _, kind := range []byte{7, 11, 16, 17, 19} {
			c.ask(t, kind, str(name))
		}
		if kind, h := c.ask(t, 3, str(name), []byte{0, 0, 0, 1, 0, 0, 0, 0}); kind == 102 {
			_, b := c.ask(t, 5, h, number(0), []byte{0, 0, 1, 0})
			t.Errorf("%q can be read: %q", name, b)
			c.ask(t, 4, h)
		}
		if strings.Contains(name, "secret") { // do not fill the own home with odd names
			c.ask(t, 13, str(name))
			c.ask(t, 9, str(name), []byte{0, 0, 0, 4, 0, 0, 1, 0xff})
			c.ask(t, 18, str(name), str("stolen"))
			c.ask(t, 200, str("hardlink@openssh.com"), str(name), str("stolen2"))
		}
	}
	if got := pfstest.ReadFile(t, w.Store, "/home/bob/secret"); string(got) != "the secret" {
		t.Errorf("bob's file has changed to %q", got)
	}
}

// TestRevoked changes a password: idle and busy connections end.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	c, idle := dial(t, w.addr, gatewaytest.Alice), dial(t, w.addr, gatewaytest.Alice)
	h := c.open(t, "f", 0x1a)
	c.write(t, h, []byte("x"), 0)
	if err := w.Auth.Accounts().SetPassword(t.Context(), gatewaytest.Alice, "another horse"); err != nil {
		t.Fatal(err)
	}
	if code := c.code(t, 6, h, number(1), str("y")); code != 3 {
		t.Errorf("a write after the change: code %d", code)
	}
	began := time.Now()
	_ = idle.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the idle connection was closed after %v", took)
	}
	if _, err := dialSSH(w.addr, gatewaytest.Alice, gatewaytest.Password); err == nil {
		t.Error("the old password works")
	}
}

// TestBruteForce guesses passwords: after some failures even the right one has to wait, here and at the HTTP login.
func TestBruteForce(t *testing.T) {
	w := newWorld(t)
	for range 7 {
		if _, err := dialSSH(w.addr, gatewaytest.Alice, "wrong horse"); err == nil {
			t.Fatal("a wrong password works")
		}
	}
	if _, err := dialSSH(w.addr, gatewaytest.Alice, gatewaytest.Password); err == nil {
		t.Error("no limit for guesses")
	}
	if _, err := w.Auth.Login(t.Context(), gatewaytest.Alice, gatewaytest.Password, "127.0.0.1:1"); !errors.Is(err, pfs.Limit) {
		t.Errorf("the HTTP login: %v", err)
	}
	if c, err := dialSSH(w.addr, gatewaytest.Bob, gatewaytest.Password); err != nil {
		t.Errorf("another user: %v", err)
	} else {
		c.Close()
	}
	if !strings.Contains(w.Log(), "method=login result=\"not logged in\" protocol=sftp") {
		t.Errorf("no audit line:\n%s", w.Log())
	}
}

// TestFloods opens too many sessions and files, sends garbage, and leaves connections half open: others go on.
func TestFloods(t *testing.T) {
	w := newWorld(t)
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			n, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer n.Close()
			fmt.Fprintf(n, "GET / HTTP/1.1\r\n\r\n%s", strings.Repeat("\x00\xff", i*1000))
			_ = n.(*net.TCPConn).CloseWrite()
			_, _ = io.ReadAll(io.LimitReader(n, 100))
		})
	}
	half, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	c := dial(t, w.addr, gatewaytest.Alice)
	refused := 0
	for range 30 {
		if _, _, err := c.OpenChannel("session", nil); err != nil {
			refused++
		}
		if _, _, err := c.OpenChannel("direct-tcpip", nil); err == nil {
			t.Fatal("a tunnel")
		}
	}
	if refused != 21 {
		t.Errorf("%d of 30 sessions were refused", refused)
	}
	opened := 0
	for range 300 {
		kind, _ := c.ask(t, 11, str("."))
		if kind == 102 {
			opened++
		}
	}
	if opened != 256 {
		t.Errorf("%d directories are open", opened)
	}
	for range 1000 { // an allocation of 4 GiB for each would end the test
		d := &raw{Client: c.Client, in: c.in, out: c.out}
		d.send([]byte{99, 0, 0, 0, 1})
		if kind, _ := d.receive(t); kind != 101 {
			t.Fatal(kind)
		}
	}
	_, _ = c.in.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	if _, err := c.out.ReadByte(); err == nil {
		t.Error("a packet of 4 GiB has an answer")
	}
	other := dial(t, w.addr, gatewaytest.Bob)
	if size := other.size(t, "/pfs"); size != 0 {
		t.Errorf("size %d", size)
	}
	work.Wait()
}

// TestManyNames lists a large directory by pages.
func TestManyNames(t *testing.T) {
	w := newWorld(t)
	w.Session(t, gatewaytest.Alice, "test")
	const names = 5000
	for i := range names {
		if err := os.WriteFile(filepath.Join(w.store, "home", gatewaytest.Alice, fmt.Sprintf("name-%06d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(w.sftp(t, "ls -1"), "name-"); got != names {
		t.Errorf("%d of %d names", got, names)
	}
}

// TestCut ends a connection at each stage of an upload that replaces a file: others see the old file or all of the new one, and
// the next upload is whole.
func TestCut(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	addr, _ := serve(t, s)
	s.Session(t, gatewaytest.Alice, "test")
	name := pfs.Path("/home/" + gatewaytest.Alice + "/f")
	content := random(6 << 20) // more than a leaf
	const piece = 200 << 10
	write := func(c *raw, h []byte, off, size int) {
		packet := append(append(append([]byte{6, 0, 0, 0, 1}, h...), number(uint64(off))...), str(string(content[off:off+size]))...)
		packet = append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)
		_, _ = c.in.Write(packet[:len(packet)-1]) // not whole
	}
	for what, cut := range map[string]func(c *raw, h []byte){
		"opened":            func(*raw, []byte) {},
		"in the first":      func(c *raw, h []byte) { write(c, h, 0, piece) },
		"after one":         func(c *raw, h []byte) { c.write(t, h, content[:piece], 0) },
		"in the second":     func(c *raw, h []byte) { c.write(t, h, content[:piece], 0); write(c, h, piece, piece) },
		"one ahead":         func(c *raw, h []byte) { c.write(t, h, content[piece:2*piece], piece) },
		"after a leaf":      func(c *raw, h []byte) { c.writeAll(t, h, content[:5<<20]) },
		"before the close":  func(c *raw, h []byte) { c.writeAll(t, h, content) },
		"in the close":      func(c *raw, h []byte) { c.writeAll(t, h, content); c.send(append([]byte{4, 0, 0, 0, 1}, h...)) },
		"in the attributes": func(c *raw, h []byte) { c.writeAll(t, h, content); _, _ = c.in.Write([]byte{0, 0, 0, 40, 10, 0}) },
	} {
		pfstest.WriteFile(t, s.Store, name, []byte("old"))
		c := dial(t, addr, gatewaytest.Alice)
		cut(c, c.open(t, "f", 0x1a))
		c.Close()
		again := dial(t, addr, gatewaytest.Alice)
		got := pfstest.ReadFile(t, s.Store, name)
		if string(got) != "old" && !bytes.Equal(got, content) {
			t.Errorf("%s: others see %d bytes", what, len(got))
		}
		waitFor(t, func() bool { return again.size(t, "f") <= uint64(len(content)) })
		h := again.open(t, "f", 0x1a)
		again.writeAll(t, h, content)
		if code := again.code(t, 4, h); code != 0 {
			t.Fatalf("%s: code %d", what, code)
		}
		if got := pfstest.ReadFile(t, s.Store, name); !bytes.Equal(got, content) {
			t.Errorf("%s: then the file has %d bytes", what, len(got))
		}
	}
}

func (c *raw) writeAll(t testing.TB, h, p []byte) {
	t.Helper()
	const piece = 200 << 10
	for off := 0; off < len(p); off += piece {
		c.write(t, h, p[off:min(len(p), off+piece)], off)
	}
}

// TestOverwrite writes to files that exist without cutting them at first, with and without random writes in the store.
func TestOverwrite(t *testing.T) {
	for what, fsys := range map[string]pfs.FileSystem{"random": memfs.New(memfs.Options{}), "in order": memfs.New(memfs.Options{Without: pfs.CanWriteRandom})} {
		s := gatewaytest.New(t, fsys)
		addr, _ := serve(t, s)
		s.Session(t, gatewaytest.Alice, "test")
		name := pfs.Path("/home/" + gatewaytest.Alice + "/f")
		c := dial(t, addr, gatewaytest.Alice)
		for why, row := range map[string]struct {
			change func(h []byte)
			want   string
		}{
			"replaced and cut, as by scp": {func(h []byte) {
				c.write(t, h, []byte("abc"), 0)
				if got := pfstest.ReadFile(t, fsys, name); string(got) != "0123456789" {
					t.Errorf("%s: others see %q before the end", what, got)
				}
				if code := c.code(t, 10, h, []byte{0, 0, 0, 1}, number(3)); code != 0 {
					t.Errorf("%s: code %d", what, code)
				}
			}, "abc"},
			"begin changed": {func(h []byte) {
				c.write(t, h, []byte("ab"), 0)
				c.write(t, h, []byte("c"), 2)
				if kind, b := c.ask(t, 8, h); kind != 105 || b[11] != 10 {
					t.Errorf("%s: %q", what, b)
				}
			}, "abc3456789"},
			"longer": {func(h []byte) { c.write(t, h, []byte("abcdefghijklm"), 0) }, "abcdefghijklm"},
			"end":    {func(h []byte) { c.write(t, h, []byte("ab"), 10) }, "0123456789ab"},
			"none":   {func([]byte) {}, "0123456789"},
		} {
			pfstest.WriteFile(t, fsys, name, []byte("0123456789"))
			h := c.open(t, "f", 0x0a)
			row.change(h)
			if code := c.code(t, 4, h); code != 0 {
				t.Errorf("%s, %s: close: code %d", what, why, code)
			}
			if got := pfstest.ReadFile(t, fsys, name); string(got) != row.want {
				t.Errorf("%s, %s: %q, want %q", what, why, got, row.want)
			}
		}
	}
}

// FuzzPackets sends packets of any content: the service answers or ends the session, and other sessions go on.
func FuzzPackets(f *testing.F) {
	s := gatewaytest.New(f, memfs.New(memfs.Options{}))
	addr, _ := serve(f, s)
	for kind := range byte(25) {
		f.Add([]byte{kind, 0, 0, 0, 1})
		f.Add(append([]byte{kind, 0, 0, 0, 1, 0, 0, 0, 1, 'f', 0, 0, 0, 0x1a, 0, 0, 0, 0}, number(1<<60)...))
		f.Add([]byte{kind, 0, 0, 0, 1, 0, 0, 0, 1, '1', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	}
	f.Add(append([]byte{200, 0, 0, 0, 1}, str("fsync@openssh.com")...))
	f.Add(append([]byte{9, 0, 0, 0, 1, 0, 0, 0, 1, 'f', 0x80, 0, 0, 0}, 0xff, 0xff, 0xff, 0xff))
	c := dial(f, addr, gatewaytest.Alice)
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) < 5 || packet[0] == 1 {
			return
		}
		c.begin(t)
		c.ask(t, 3, str("f"), []byte{0, 0, 0, 0x1b, 0, 0, 0, 0})
		c.send(packet)
		if kind, rest := c.receive(t); kind < 101 || len(rest) < 4 {
			t.Errorf("an answer of type %d with %d bytes", kind, len(rest))
		}
		if size := c.size(t, "/pfs"); size != 0 {
			t.Errorf("the session is out of step: size %d", size)
		}
		_ = c.in.Close()
		_, _ = io.Copy(io.Discard, c.out)
	})
}

// TestLimits uses the limits that the gateway states: a write and a read of the stated length are carried out whole, and as many
// files can be open.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	c := dial(t, w.addr, gatewaytest.Alice)
	kind, b := c.ask(t, 200, str("limits@openssh.com"))
	if kind != 201 || len(b) != 32 {
		t.Fatalf("answer of type %d with %d bytes", kind, len(b))
	}
	packet, read, write, files := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])
	if read < 32<<10 || write < 32<<10 || packet < write+1024 || files < 64 {
		t.Fatalf("packets of %d, reads of %d, writes of %d, %d files", packet, read, write, files)
	}
	content := random(int(write))
	h := c.open(t, "f", 0x1a)
	c.write(t, h, content, 0)
	if code := c.code(t, 4, h); code != 0 {
		t.Fatal(code)
	}
	w.wantFile(t, "f", content)
	h = c.open(t, "f", 1)
	kind, b = c.ask(t, 5, h, number(0), binary.BigEndian.AppendUint32(nil, uint32(read)))
	if kind != 103 || uint64(len(b)) != 4+min(read, write) {
		t.Errorf("a read of %d bytes has an answer of type %d with %d", read, kind, len(b))
	}
	for range files - 1 {
		c.open(t, "f", 1)
	}
	if code := c.code(t, 3, str("f"), []byte{0, 0, 0, 1, 0, 0, 0, 0}); code != 4 {
		t.Errorf("one file more than stated: code %d, want a failure", code)
	}
}

// TestAlgorithms connects with each algorithm alone: old ones are refused.
func TestAlgorithms(t *testing.T) {
	w := newWorld(t)
	try := func(cfg ssh.Config) error {
		c, err := ssh.Dial("tcp", w.addr, &ssh.ClientConfig{
			Config: cfg, User: gatewaytest.Alice, Auth: []ssh.AuthMethod{ssh.Password(gatewaytest.Password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		})
		if err == nil {
			c.Close()
		}
		return err
	}
	good, old := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	taken := 0
	for _, name := range good.Ciphers {
		if try(ssh.Config{Ciphers: []string{name}}) == nil {
			taken++
		}
	}
	if taken < 3 {
		t.Errorf("%d modern ciphers are accepted", taken)
	}
	for _, name := range old.Ciphers {
		if try(ssh.Config{Ciphers: []string{name}}) == nil {
			t.Errorf("the cipher %s is accepted", name)
		}
	}
	for _, name := range old.KeyExchanges {
		if try(ssh.Config{KeyExchanges: []string{name}}) == nil {
			t.Errorf("the key exchange %s is accepted", name)
		}
	}
	for _, name := range append(old.MACs, ssh.HMACSHA1) {
		if try(ssh.Config{Ciphers: []string{ssh.CipherAES128CTR}, MACs: []string{name}}) == nil {
			t.Errorf("the checksum %s is accepted", name)
		}
	}
}
