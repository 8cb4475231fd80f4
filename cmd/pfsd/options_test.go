package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// Wrong command lines name the mistake and end with code 2, before anything is created.
func TestWrongCommandLines(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	tests := []struct {
		args string
		says string
	}{
		{"frobnicate", "frobnicate"},
		{"serve", "--data"},
		{"serve --data " + data + " extra", "extra"},
		{"serve --data " + data + " --liste 1", "--listen"},
		{"serve --data " + data + " --listen 8730", "HOST:PORT"},
		{"serve --data " + data + " --listen 127.0.0.1:", "HOST:PORT"},
		{"serve --data " + data + " --metrics-listen x", "--metrics-listen"},
		{"serve --data " + data + " --tls-cert x", "--tls-key"},
		{"serve --data " + data + " --tls-key x", "--tls-cert"},
		{"serve --data " + data + " --no-tls --tls-cert x --tls-key y", "contradict"},
		{"serve --data " + data + " --insecure", "--no-tls"},
		{"serve --data " + data + " --no-tls --listen 0.0.0.0:0", "plain text"},
		{"serve --data " + data + " --no-tls --listen :0", "plain text"},
		{"serve --data " + data + " --no-tls --listen example.org:0", "plain text"},
		{"serve --data " + data + " --max-connections 0", "--max-connections"},
		{"serve --data " + data + " --max-connections many", "max-connections"},
		{"serve --data " + data + " --log-level loud", "--log-level"},
		{"serve --data " + data + " --log-format xml", "--log-format"},
		{"serve --data " + data + " --datacenter mem:", "NAME=URL"},
		{"serve --data " + data + " --datacenter dc=", "NAME=URL"},
		{"serve --data " + data + " --datacenter a/b=mem:", "slash"},
		{"serve --data " + data + " --datacenter public=mem:", "/pfs/public"},
		{"serve --data " + data + " --datacenter a=mem: --datacenter a=mem:", "twice"},
		{"serve --data " + data + " --datacenter a=s3://b", "s3"},
		{"serve --data " + data + " --datacenter a=/srv", "file:///"},
		{"serve --data " + data + " --datacenter a=mem: --current b", "--current"},
		{"user", "which one"},
		{"user add --data " + data, "NAME"},
		{"user add ann", "--data"},
		{"user add ann bob --data " + data, "bob"},
		{"user add ann --data " + data + " --uid x", "uid"},
		{"user add ann --data " + data + " --role root --password-stdin", "root"},
		{"user add ../ann --data " + data + " --password-stdin", "ann"},
		{"user add ann --data " + data, "--password-stdin"},
		{"user passwd --data " + data, "NAME"},
		{"user role ann --data " + data, "role"},
		{"user rm --data " + data, "NAME"},
		{"user ls x --data " + data, "x"},
		{"completion", "shell"},
		{"completion csh", "csh"},
		{"help frobnicate", "frobnicate"},
		{"version x", "x"},
	}
	for _, tt := range tests {
		got := run(t, goodPassword, strings.Fields(tt.args)...)
		if got.code != int(cliio.Usage) || !strings.Contains(got.stderr, tt.says) {
			t.Errorf("pfsd %s: code %d, stderr %q; want code 2 and %q", tt.args, got.code, got.stderr, tt.says)
		}
		if got.stdout != "" {
			t.Errorf("pfsd %s: stdout %q, want none", tt.args, got.stdout)
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a wrong command line made the data directory")
	}
}

func TestEndpoint(t *testing.T) {
	got := endpoint("https", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8730})
	if want := "https://192.0.2.1:8730"; got != want {
		t.Errorf("endpoint = %q, want %q", got, want)
	}
	got = endpoint("https", &net.TCPAddr{IP: net.IPv6zero, Port: 8730})
	if strings.Contains(got, "[::]") || !strings.HasSuffix(got, ":8730") {
		t.Errorf("endpoint of all addresses = %q, which nobody can connect to", got)
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/srv/pfs": "/srv/pfs", "": "''", "/a b": "'/a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'",
	} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}
