package sftpd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/crypto/ssh"
)

// TestAhead writes more of an upload before its first byte than can wait in memory.
func TestAhead(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	h, piece, want := c.open(t, "f", 0x1a), random(128<<10), []byte(nil)
	for range 40 {
		c.write(t, h, piece, 1+len(want))
		want = append(append(want, 0), piece...)
	}
	if code := c.code(t, 4, h); code != 0 {
		t.Fatalf("code %d", code)
	}
	pfstest.WantFile(t, s.Store, pfs.Path("/home/"+gatewaytest.Alice+"/f"), want)
}

// TestManySessions opens as many sessions as a user may have, in many connections. Another user is served, and the user again
// when some have ended.
func TestManySessions(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	addr, _ := serve(t, s)
	var clients []*ssh.Client
	opened := 0
	for range 14 {
		c, err := dialSSH(addr, gatewaytest.Alice, gatewaytest.Password)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		for range 10 {
			if _, _, err := c.OpenChannel("session", nil); err == nil {
				opened++
			}
		}
	}
	if opened != 128 {
		t.Errorf("%d sessions were opened", opened)
	}
	dial(t, addr, gatewaytest.Bob)
	clients[0].Close()
	waitFor(t, func() bool {
		ch, _, err := clients[13].OpenChannel("session", nil)
		if err == nil {
			ch.Close()
		}
		return err == nil
	})
}

// TestRequestFloods sends more requests and bytes than anybody reads: they wait at the client, and other users are served.
func TestRequestFloods(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	addr, _ := serve(t, s)
	c := dial(t, addr, gatewaytest.Alice)
	for range 2000 {
		_, _, _ = c.SendRequest("tcpip-forward", false, make([]byte, 1000))
	}
	ch, requests, err := c.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	for range 2000 {
		_, _ = ch.SendRequest("env", false, make([]byte, 1000))
	}
	go func() { // nobody reads it: the window ends it
		_, _ = ch.Write(make([]byte, 64<<20))
	}()
	// A client that asks and does not read the answers.
	h := c.open(t, "f", 0x1b)
	c.write(t, h, random(200<<10), 0)
	go func() {
		for range 10_000 {
			c.send(append(append(append([]byte{5, 0, 0, 0, 1}, h...), number(0)...), 0, 3, 0, 0))
		}
	}()
	other := dial(t, addr, gatewaytest.Bob)
	for range 100 {
		if size := other.size(t, "/pfs"); size != 0 {
			t.Fatalf("size %d", size)
		}
	}
	c.Close()
}

// FuzzTransport sends anything in place of the protocol, or after its first line: others are served.
func FuzzTransport(f *testing.F) {
	addr, _ := serve(f, gatewaytest.New(f, memfs.New(memfs.Options{})))
	other := dial(f, addr, gatewaytest.Bob)
	kexInit := append([]byte{20}, make([]byte, 16)...)
	for range 10 {
		kexInit = append(kexInit, 0, 0, 0, 1, 'x')
	}
	packet := func(payload []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)+5))
		return append(append(append(b, 4), payload...), 0, 0, 0, 0)
	}
	for _, seed := range [][]byte{
		nil, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0, 0}, packet(kexInit), packet(append(kexInit, 0, 0, 0, 0, 0)), packet([]byte{21}), packet([]byte{1, 0, 0, 0, 2}),
		bytes.Repeat(packet([]byte{2, 0, 0, 0, 0}), 1000), []byte(strings.Repeat("x", 70_000)),
	} {
		f.Add(true, seed)
		f.Add(false, seed)
	}
	f.Fuzz(func(t *testing.T, line bool, b []byte) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if line {
			fmt.Fprintf(c, "SSH-2.0-x\r\n")
		}
		_, _ = c.Write(b)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		if size := other.size(t, "/pfs"); size != 0 {
			t.Errorf("size %d", size)
		}
	})
}

// FuzzSession opens channels and sends requests, commands and their input of any kind: nothing of bob's is changed or told,
// and the connection goes on.
func FuzzSession(f *testing.F) {
	s := gatewaytest.New(f, memfs.New(memfs.Options{}))
	addr, _ := serve(f, s)
	other := dial(f, addr, gatewaytest.Bob)
	h := other.open(f, "secret", 0x1a)
	other.write(f, h, []byte("the secret"), 0)
	if code := other.code(f, 4, h); code != 0 {
		f.Fatal(code)
	}
	for _, command := range []string{
		"scp -t -r .", "scp -f -r ../bob", "scp -f ../bob/*", "md5sum ../bob/secret", "scp -t ../bob/secret", "echo x | md5sum", "sh -c id", "md5sum `id`", "'", "scp -f " + strings.Repeat("../", 2000),
	} {
		f.Add("session", "exec", str(command), []byte("D0755 0 d\nC0644 3 ../x\nC0644 3 f\nabc\x00E\nE\nT1 2 3 4\nC0644 9223372036854775807 big\n"))
	}
	f.Add("session", "subsystem", str("sftp"), []byte{0, 0, 0, 5, 1, 0, 0, 0, 3})
	f.Add("session", "pty-req", []byte{0xff, 0xff, 0xff, 0xff}, []byte("x"))
	f.Add("direct-tcpip", "x11-req", []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, kind, request string, payload, input []byte) {
		c, err := dialSSH(addr, gatewaytest.Alice, gatewaytest.Password)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ch, requests, err := c.OpenChannel(kind, nil)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		if ok, err := ch.SendRequest(request, true, payload); ok && err == nil {
			_, _ = ch.Write(input)
			_ = ch.CloseWrite()
			said, _ := io.ReadAll(ch)
			if bytes.Contains(said, []byte("the secret")) {
				t.Errorf("%s %q tells %q", request, payload, said)
			}
		}
		ch.Close()
		if got := pfstest.ReadFile(t, s.Store, "/home/bob/secret"); string(got) != "the secret" {
			t.Errorf("bob's file is %q", got)
		}
		if size := other.size(t, "/pfs"); size != 0 {
			t.Errorf("size %d", size)
		}
	})
}

// TestAliasConfusion holds that the names of aliases lead nowhere else than they say.
func TestAliasConfusion(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	addr, _ := serve(t, s)
	s.Session(t, gatewaytest.Bob, "test")
	pfstest.WriteFile(t, s.Store, "/home/bob/f", []byte("bob's"))
	c := dial(t, addr, gatewaytest.Alice)
	pfstest.WriteFile(t, s.Store, pfs.Path("/home/"+gatewaytest.Alice+"/f"), []byte("own"))
	const none = ^uint64(0)
	for name, want := range map[string]uint64{
		"/mnt/hdfs/idl/f": 3, "/mnt/hdfs//idl/./f": 3, "/mnt/hdfs/x/../idl/f": 3, "/mnt/hdfs/idl/../idl/f": 3, "/mnt/hdfs/idl/../../../pfs/dc/home/" + gatewaytest.Alice + "/f": 3,
		"/mnt/hdfs/idl/../bob/f": none, "/mnt/hdfs/idlx/f": none, "/mnt/hdfs/idl/../f": none, "/mnt/hdfs/idl{user}/f": none, "/mnt/hdfs/IDL/f": none, "/pfs/mnt/hdfs/idl/f": none,
		"/mnt/hdfs/idl\x00/f": none, "/mnt/hdfs/idl/../idl/../../../pfs/dc/home/bob/f": none, "/pfs/dc/home/{user}/f": none,
	} {
		if got := c.size(t, name); got != want {
			t.Errorf("%q has %d bytes, want %d", name, got, want)
		}
	}
	for _, name := range []string{"\x00", strings.Repeat("x", 5000), strings.Repeat("d/", 100_000)} {
		if kind, b := c.ask(t, 16, str(name)); kind != 101 {
			t.Errorf("realpath of %.20q is %.100q", name, b)
		}
	}
}
