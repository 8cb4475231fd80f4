package sftpd_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/sftpd"
	"golang.org/x/crypto/ssh"
)

// world is a running gateway, and the files with which OpenSSH's clients reach it.
type world struct {
	*gatewaytest.Service
	dir   string // of the clients
	store string // directory of the store
	addr  string
	key   string // of alice; without one the clients have her password
	stop  func()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	testbed.SSH(t)
	store := t.TempDir()
	fsys, err := localfs.New(store, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Service: gatewaytest.New(t, fsys), dir: t.TempDir(), store: store}
	w.addr, w.stop = serve(t, w.Service)
	return w
}

// serve starts the gateway of a service.
func serve(t testing.TB, s *gatewaytest.Service) (addr string, stop func()) {
	t.Helper()
	key, err := auth.LoadOrMakeHostKey(t.Context(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := sftpd.New(sftpd.Config{
		Auth: s.Auth, Open: s.Open("sftp"), HostKey: key,
		Home:    func(id auth.Identity) pfs.Path { return gatewaytest.Home(id.Name) },
		Aliases: []sftpd.Alias{{From: "/mnt/hdfs/idl", To: "/pfs/dc/home/{user}"}},
		Logged: func(ctx context.Context, user, remote string, err error) {
			s.Server.AuditLogin(ctx, "sftp", user, remote, err)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// run runs a client in w.dir. HOST in its arguments is alice at the gateway.
func (w *world) run(t testing.TB, stdin, program string, args ...string) (string, error) {
	t.Helper()
	c := testbed.SSHClient{Dir: w.dir, Address: w.addr, User: gatewaytest.Alice, Password: gatewaytest.Password, Key: w.key}
	return c.Run(t, stdin, program, args...)
}

// must is run for a client that must succeed.
func (w *world) must(t testing.TB, stdin, program string, args ...string) string {
	t.Helper()
	out, err := w.run(t, stdin, program, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return out
}

// sftp runs a batch of commands.
func (w *world) sftp(t testing.TB, lines ...string) string {
	t.Helper()
	return w.must(t, strings.Join(lines, "\n")+"\n", "sftp", "-oBatchMode=no", "-b-", "HOST")
}

// local writes a file of the client.
func (w *world) local(t testing.TB, name string, content []byte) {
	t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o640); err != nil {
		t.Fatal(err)
	}
}

// wantFile compares a file in alice's home.
func (w *world) wantFile(t testing.TB, name string, want []byte) {
	t.Helper()
	got := pfstest.ReadFile(t, w.Store, pfs.Path("/home/"+gatewaytest.Alice).Join(name))
	if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes that differ from the %d expected", name, len(got), len(want))
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

func TestSFTP(t *testing.T) {
	w := newWorld(t)
	large := random(9<<20 + 123)
	w.local(t, "large", large)
	w.local(t, "small", []byte("small"))
	w.local(t, "empty", nil)
	w.local(t, "d/e/f", []byte("f"))
	out := w.sftp(t, "pwd", "put large", "put -f small", "put -p empty", "put -R d", "ls -l", "ls -la d", "get large back", "get -R d d2",
		"mkdir x", "rename small x/s", "symlink x/s link", "get link throughlink", "chmod 600 large", "ln x/s hard", "df", "rm empty", "mkdir y", "rmdir y", "-mkdir x", "-rmdir x", "-rm x",
		"cd /mnt/hdfs/idl/d/e", "get f throughalias", "ls -l ../../large", "-get nothing")
	for _, want := range []string{
		"Remote working directory: /pfs/dc/home/alice@example.org\n", "-rw-------", `remote mkdir "/pfs/dc/home/alice@example.org/x": Failure`,
		`rmdir "/pfs/dc/home/alice@example.org/x": Failure`, `remote delete /pfs/dc/home/alice@example.org/x: Failure`, `nothing" not found`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if info, err := os.Stat(filepath.Join(w.store, "home", gatewaytest.Alice, "x")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a new directory: %v, %v", info, err)
	}
	w.wantFile(t, "large", large)
	for name, want := range map[string][]byte{"back": large, "d2/e/f": []byte("f"), "throughlink": []byte("small"), "throughalias": []byte("f")} {
		if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestReput interrupts uploads, and continues them with OpenSSH at another replica.
func TestReput(t *testing.T) {
	w := newWorld(t)
	content := random(11<<20 + 77)
	w.local(t, "f", content)
	w.Session(t, gatewaytest.Alice, "test") // makes the home
	pfstest.WriteFile(t, w.Store, "/home/"+gatewaytest.Alice+"/f", []byte("old"))
	for _, sent := range []int{100, 5<<20 + 1000, len(content)} {
		c := dial(t, w.addr, gatewaytest.Alice)
		h := c.open(t, "f", 0x1a) // write, create, truncate
		for off := 0; off < sent; off += 200_000 {
			c.write(t, h, content[off:min(sent, off+200_000)], off)
		}
		if size := c.size(t, "f"); size != uint64(sent) {
			t.Errorf("while %d bytes are uploaded, their user sees %d", sent, size)
		}
		w.wantFile(t, "f", []byte("old"))
		bob := dial(t, w.addr, gatewaytest.Root)
		if size := bob.size(t, string(gatewaytest.Home(gatewaytest.Alice))+"/f"); size != 3 {
			t.Errorf("others see %d bytes", size)
		}
		c.Close()
		w.addr, w.stop = serve(t, w.Replica(t))
		waitFor(t, func() bool { return dial(t, w.addr, gatewaytest.Alice).size(t, "f") == uint64(sent) })
		if sent == len(content) {
			w.sftp(t, "rm f", "put f")
		} else {
			w.sftp(t, "reput f")
		}
		w.wantFile(t, "f", content)
		if size := dial(t, w.addr, gatewaytest.Alice).size(t, "f"); size != uint64(len(content)) {
			t.Errorf("after the end the file has %d bytes", size)
		}
		pfstest.WriteFile(t, w.Store, "/home/"+gatewaytest.Alice+"/f", []byte("old"))
	}
	for _, dir := range []string{"home/" + gatewaytest.Alice} {
		entries, err := os.ReadDir(filepath.Join(w.store, dir))
		if err != nil || len(entries) != 1 {
			t.Errorf("staged files are left: %v, %v", entries, err)
		}
	}
}

// TestReputDamaged damages staged bytes behind the back of the service: they are never continued.
func TestReputDamaged(t *testing.T) {
	w := newWorld(t)
	content := random(9 << 20)
	w.local(t, "f", content)
	c := dial(t, w.addr, gatewaytest.Alice)
	h := c.open(t, "f", 0x1a)
	for off := 0; off < 8<<20; off += 1 << 17 {
		c.write(t, h, content[off:off+1<<17], off)
	}
	c.Close()
	waitFor(t, func() bool { return dial(t, w.addr, gatewaytest.Alice).size(t, "f") == 8<<20 })
	staged, err := filepath.Glob(filepath.Join(w.store, "home", gatewaytest.Alice, ".pfs-up-*"))
	if err != nil || len(staged) != 2 {
		t.Fatalf("%v, %v", staged, err)
	}
	for _, name := range staged {
		if info, err := os.Stat(name); err == nil && info.Size() >= 8<<20 {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte("damage"), 5<<20); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	if out, err := w.run(t, "reput f\n", "sftp", "-b-", "HOST"); err == nil {
		t.Errorf("continued with damaged bytes:\n%s", out)
	}
	w.sftp(t, "put f")
	w.wantFile(t, "f", content)
}

// TestSCP copies trees in both directions with both protocols of scp.
func TestSCP(t *testing.T) {
	w := newWorld(t)
	large := random(5<<20 + 9)
	w.local(t, "tree/large", large)
	w.local(t, "tree/a b/$(id) 'x'", []byte("odd"))
	w.local(t, "tree/empty", nil)
	old := time.Unix(1_600_000_000, 0)
	if err := os.Chtimes(filepath.Join(w.dir, "tree/large"), old, old); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"-s", "-O"} {
		w.must(t, "", "scp", protocol, "-p", "-r", "tree", "HOST:to"+protocol)
		w.must(t, "", "scp", protocol, "-r", "tree", "HOST:to"+protocol) // into the directory that is there now
		w.must(t, "", "scp", protocol, "tree/large", "tree/empty", "HOST:/mnt/hdfs/idl/to"+protocol+"/tree")
		w.wantFile(t, "to"+protocol+"/large", large)
		w.wantFile(t, "to"+protocol+"/tree/a b/$(id) 'x'", []byte("odd"))
		w.wantFile(t, "to"+protocol+"/tree/large", large)
		info, err := w.Store.Stat(t.Context(), pfs.Path("/home/"+gatewaytest.Alice+"/to"+protocol+"/large"))
		if err != nil || !info.ModTime.Equal(old) || info.Mode.Perm() != 0o640 || info.Digest == "" {
			t.Errorf("%s: %+v, %v", protocol, info, err)
		}
		w.must(t, "", "scp", protocol, "-p", "-r", "HOST:to"+protocol, "back"+protocol)
		w.must(t, "", "scp", protocol, "HOST:to"+protocol+"/l*ge", "matched"+protocol)
		for name, want := range map[string][]byte{"back" + protocol + "/large": large, "back" + protocol + "/a b/$(id) 'x'": []byte("odd"), "matched" + protocol: large} {
			if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		if info, err := os.Stat(filepath.Join(w.dir, "back"+protocol, "large")); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s: %v, %v", protocol, info, err)
		}
		for _, args := range [][]string{{"HOST:nothing", "."}, {"HOST:to" + protocol, "."}, {"tree/large", "HOST:no/dir"}, {"tree/large", "HOST:/pfs/dc/home/bob/f"}} {
			if out, err := w.run(t, "", "scp", append([]string{protocol}, args...)...); err == nil {
				t.Errorf("scp %s %v succeeds:\n%s", protocol, args, out)
			}
		}
	}
}

// TestCommands runs the commands that clients run, and others.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	w.local(t, "f", []byte("abc\n"))
	w.sftp(t, "put f", `put f "a b'c"`)
	for command, want := range map[string]string{
		"md5sum f":                  "0bee89b07a248e27c83fc3d5951213c1  f\n",
		`sha1sum 'a b'\''c'`:        "03cfd743661f07975fa2f1220c5194cbaff48451  a b'c\n",
		`sha256sum "a b'c" a\ b\'c`: strings.Repeat("edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb  a b'c\n", 2),
		"echo 'abc' | md5sum":       "0bee89b07a248e27c83fc3d5951213c1  -\n",
		"echo ${ShellId}%ComSpec%":  "%ComSpec%\n",
	} {
		if out, err := w.run(t, "", "ssh", "HOST", command); err != nil || out != want {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
	for command, want := range map[string]string{
		"md5sum nothing": "nothing", "md5sum /pfs/dc/home/bob/f": "permission denied", "rsync --server -r . x": "paddlectl sync", "id": "not a command", "": "no shell",
		"md5sum f; id": "no shell", "md5sum f && id": "no shell", "md5sum $(id)": "no shell", "md5sum `id`": "no shell", "md5sum f > g": "no shell",
		"scp -t": "scp works with", "scp -x -t .": "no option -x", "echo x | sh": "not a command", "echo x | md5sum | sh": "no shell", "md5sum 'f": "not closed",
	} {
		if out, err := w.run(t, "", "ssh", "HOST", command); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v; want a refusal with %q", command, out, err, want)
		}
	}
}

// TestKeys logs in with a key, which is then removed.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	key := filepath.Join(w.dir, "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	w.key = key
	if out, err := w.run(t, "pwd\n", "sftp", "-b-", "HOST"); err == nil {
		t.Fatalf("an unknown key works:\n%s", out)
	}
	k, err := w.Auth.Accounts().AddKey(t.Context(), gatewaytest.Alice, string(line))
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, "pwd\n", "sftp", "-b-", "HOST")
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	idle, err := ssh.Dial("tcp", w.addr, &ssh.ClientConfig{
		User: gatewaytest.Alice, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := w.Auth.Accounts().RemoveKey(t.Context(), gatewaytest.Alice, k.Fingerprint); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- idle.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the connection outlives the key")
	}
}
