package testbed

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// SSH makes sure that the clients of OpenSSH, and sshfs, are in the PATH.
func SSH(t testing.TB) {
	t.Helper()
	openSSH(t)
}

func openSSH(t testing.TB) map[string]string {
	t.Helper()
	return up(t, "ssh", script(t, "ssh.sh"), nil, "up")
}

// SSHClient runs OpenSSH's programs as one user.
type SSHClient struct {
	Dir      string // in which they run; it also gets the host keys that they have seen
	Address  string // of the server
	User     string
	Password string // used without Key
	Key      string // file of a private key
}

// Run runs a program, and returns its output. HOST in its arguments is the user at the server.
func (c SSHClient) Run(t testing.TB, stdin, program string, args ...string) (string, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		t.Fatal(err)
	}
	askpass := filepath.Join(t.TempDir(), "askpass")
	if err := os.WriteFile(askpass, []byte("#!/bin/sh\ncat <<'END'\n"+c.Password+"\nEND\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := []string{"-oPreferredAuthentications=password", "-oNumberOfPasswordPrompts=1"}
	if c.Key != "" {
		all = []string{"-oPreferredAuthentications=publickey", "-oIdentityFile=" + c.Key, "-oIdentitiesOnly=yes"}
	}
	all = append(all, "-oPort="+port, "-oUserKnownHostsFile="+filepath.Join(c.Dir, "known_hosts"), "-oStrictHostKeyChecking=accept-new", "-F/dev/null")
	for _, a := range args {
		all = append(all, strings.ReplaceAll(a, "HOST", c.User+"@"+host))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, all...)
	cmd.Dir, cmd.Stdin = c.Dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "SSH_ASKPASS="+askpass, "SSH_ASKPASS_REQUIRE=force")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// SSHServer is a real sshd on loopback, into which the user of the test may log in with a key.
type SSHServer struct {
	Address    string // host:port
	User       string
	Key        string // file of the private key
	KnownHosts string // file of the host key

	t      testing.TB
	config string
	sshd   string
	cmd    *exec.Cmd
}

// NewSSHServer starts an sshd, which ends with the test.
func NewSSHServer(t testing.TB) *SSHServer {
	t.Helper()
	v := openSSH(t)
	dir := t.TempDir()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &SSHServer{User: me.Username, t: t, sshd: v["SSHD"], config: filepath.Join(dir, "sshd_config"),
		Key: filepath.Join(dir, "id"), KnownHosts: filepath.Join(dir, "known_hosts")}
	authorized, host := filepath.Join(dir, "authorized_keys"), filepath.Join(dir, "host")
	write(t, authorized, ssh.MarshalAuthorizedKey(newKey(t, s.Key)))
	hostKey := ssh.MarshalAuthorizedKey(newKey(t, host))
	t.Cleanup(s.Kill)
	for range 10 { // another program may take the port before sshd does
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Address = l.Addr().String()
		write(t, s.KnownHosts, fmt.Appendf(nil, "[127.0.0.1]:%s %s", port(s.Address), hostKey))
		write(t, s.config, fmt.Appendf(nil, `Port %s
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
PasswordAuthentication no
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
MaxStartups 1000
MaxSessions 100
Subsystem sftp internal-sftp
`, port(s.Address), host, authorized))
		l.Close()
		if err = s.start(); err == nil {
			return s
		}
		t.Log(err)
	}
	t.Fatal("sshd finds no port")
	return nil
}

// Start starts the server after Kill, at the same address.
func (s *SSHServer) Start() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// start returns an error if another program has the port.
func (s *SSHServer) start() error {
	s.t.Helper()
	log, err := os.Create(s.config + ".log")
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.sshd, "-D", "-e", "-f", s.config)
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		said, err := os.ReadFile(log.Name())
		if err != nil {
			s.t.Fatal(err)
		}
		switch said := string(said); {
		case strings.Contains(said, "Server listening on"):
			return nil
		case strings.Contains(said, "Cannot bind any address"):
			s.Kill()
			return fmt.Errorf("sshd does not start: %s", said)
		case time.Now().After(end):
			s.Kill()
			s.t.Fatalf("sshd does not start: %s", said)
		}
	}
}

// Kill kills the server. Its connections live on in processes of their own.
func (s *SSHServer) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

// newKey writes a private key to the file name, and returns the public one.
func newKey(t testing.TB, name string) ssh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, pem.EncodeToMemory(block))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
