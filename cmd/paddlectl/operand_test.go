package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

func TestParseOperand(t *testing.T) {
	tests := []struct {
		text string
		want operand
		code cliio.Code
	}{
		{"/pfs", operand{side: remote, path: "/pfs"}, 0},
		{"/pfs/", operand{side: remote, path: "/pfs", contents: true}, 0},
		{"/pfs/dc/home/a@b.c/x y", operand{side: remote, path: "/pfs/dc/home/a@b.c/x y"}, 0},
		{"//pfs//dc/./home/u/", operand{side: remote, path: "/pfs/dc/home/u", contents: true}, 0},
		{"/pfs/dc/home/u/.", operand{side: remote, path: "/pfs/dc/home/u", contents: true}, 0},
		{"/pfs/dc/user/u/x", operand{side: remote, path: "/pfs/dc/home/u/x"}, 0},
		{"/pfs/public/user/u/x", operand{side: remote, path: "/pfs/public/user/u/x"}, 0},
		{"/pfs/dc/user", operand{side: remote, path: "/pfs/dc/user"}, 0},
		{"/pfs/dc/home/u/user/x", operand{side: remote, path: "/pfs/dc/home/u/user/x"}, 0},
		{"/pfsx", operand{side: local, local: "/pfsx"}, 0},
		{"pfs/x", operand{side: local, local: "pfs/x"}, 0},
		{"./x", operand{side: local, local: "./x"}, 0},
		{".", operand{side: local, local: ".", contents: true}, 0},
		{"a/..", operand{side: local, local: "a/..", contents: true}, 0},
		{"a/", operand{side: local, local: "a/", contents: true}, 0},
		{"a.", operand{side: local, local: "a."}, 0},
		{"file:/pfs/x", operand{side: local, local: "/pfs/x"}, 0},
		{"-", operand{side: stdio}, 0},
		{"", operand{}, cliio.Usage},
		{"file:", operand{}, cliio.Usage},
		{"/pfs/dc/../x", operand{}, cliio.Usage},
		{"/pfs/dc/a\xff", operand{}, cliio.Usage},
		{"/pfs/dc/a\x00", operand{}, cliio.Usage},
		{"/pfs/" + strings.Repeat("n", 256), operand{}, cliio.Usage},
	}
	for _, tt := range tests {
		d := newDeps(&Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		got, err := d.parseOperand(tt.text)
		if cliio.CodeOf(err) != tt.code {
			t.Errorf("parseOperand(%q): %v, want code %d", tt.text, err, tt.code)
		}
		tt.want.text = tt.text
		if err == nil && got != tt.want {
			t.Errorf("parseOperand(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

func TestIsRoot(t *testing.T) {
	roots := []pfs.Path{"/", "/pfs", "/pfs/dc", "/pfs/public", "/pfs/dc/home", "/pfs/dc/public", "/pfs/dc/home/u", "/pfs/dc/mnt/x"}
	others := []pfs.Path{"/pfs/public/x", "/pfs/public/home/u", "/pfs/dc/home/u/x", "/pfs/dc/public/x", "/pfs/dc/mnt/x/y"}
	for _, p := range roots {
		if !isRoot(p) {
			t.Errorf("isRoot(%s) = false", p)
		}
	}
	for _, p := range others {
		if isRoot(p) {
			t.Errorf("isRoot(%s) = true", p)
		}
	}
}

func TestShellWord(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain-1.2_3/x@y:z,=+%", "plain-1.2_3/x@y:z,=+%"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{"*", "'*'"},
		{"~x", "'~x'"},
	}
	for _, tt := range tests {
		if got := posixWord(tt.in); got != tt.want {
			t.Errorf("posixWord(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestReadLine(t *testing.T) {
	tests := []struct {
		in, want, rest string
		code           cliio.Code
	}{
		{"secret\nrest", "secret", "rest", 0},
		{"secret\r\n", "secret", "", 0},
		{"secret", "secret", "", 0},
		{" spaces \n", " spaces ", "", 0},
		{"\n", "", "", 0},
		{"", "", "", cliio.Usage},
		{strings.Repeat("x", 5000), "", "", cliio.Usage},
	}
	for _, tt := range tests {
		r := strings.NewReader(tt.in)
		got, err := readLine(r)
		if got != tt.want || cliio.CodeOf(err) != tt.code {
			t.Errorf("readLine(%.20q) = %q, %v; want %q, code %d", tt.in, got, err, tt.want, tt.code)
		}
		if rest := tt.in[len(tt.in)-r.Len():]; err == nil && rest != tt.rest {
			t.Errorf("readLine(%.20q) left %q, want %q", tt.in, rest, tt.rest)
		}
	}
}

// TestDidYouMean holds what is offered for a path that was typed as one of this machine.
func TestDidYouMean(t *testing.T) {
	for text, want := range map[string]string{
		"pfs/dc/home/alice/x":   "/pfs/dc/home/alice/x",
		"pfs/other/home/bob":    "/pfs/other/home/bob",
		"dc/home/alice":         "/pfs/dc/home/alice",
		"home/alice/x":          "/pfs/dc/home/alice/x",
		"/dc/home/alice/x":      "/pfs/dc/home/alice/x",
		"/home/alice/x":         "/pfs/dc/home/alice/x",
		"public/dataset/x":      "/pfs/public/dataset/x",
		"/dc/public/x":          "/pfs/dc/public/x",
		"data/x y":              "'/pfs/dc/home/alice/data/x y'",
		"home/bob":              "/pfs/dc/home/alice/home/bob",
		"./data":                "/pfs/dc/home/alice/data",
		"~/x":                   "/pfs/dc/home/alice/x",
		"~":                     "/pfs/dc/home/alice",
		"/data/x":               "",
		"/home/bob":             "",
		"../x":                  "",
		"file:pfs/dc/home/a":    "",
		"file:/pfs/dc/home/a/b": "",
	} {
		got := run(t, testMain(t, newHome(t), "ls", text)).stderr
		if want == "" && strings.Contains(got, "did you mean") || want != "" && !strings.Contains(got, "did you mean "+want+"?") {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
}
