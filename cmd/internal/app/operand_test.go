package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

func TestParseOperand(t *testing.T) {
	tests := []struct {
		text string
		want Operand
		code cliio.Code
	}{
		{"/pfs", Operand{Side: Remote, Path: "/pfs"}, 0},
		{"/pfs/", Operand{Side: Remote, Path: "/pfs", Contents: true}, 0},
		{"/pfs/dc/home/a@b.c/x y", Operand{Side: Remote, Path: "/pfs/dc/home/a@b.c/x y"}, 0},
		{"//pfs//dc/./home/u/", Operand{Side: Remote, Path: "/pfs/dc/home/u", Contents: true}, 0},
		{"/pfs/dc/home/u/.", Operand{Side: Remote, Path: "/pfs/dc/home/u", Contents: true}, 0},
		{"/pfs/dc/user/u/x", Operand{Side: Remote, Path: "/pfs/dc/home/u/x"}, 0},
		{"/pfs/public/user/u/x", Operand{Side: Remote, Path: "/pfs/public/user/u/x"}, 0},
		{"/pfs/dc/user", Operand{Side: Remote, Path: "/pfs/dc/user"}, 0},
		{"/pfs/dc/home/u/user/x", Operand{Side: Remote, Path: "/pfs/dc/home/u/user/x"}, 0},
		{"/pfsx", Operand{Side: Local, Local: "/pfsx"}, 0},
		{"pfs/x", Operand{Side: Local, Local: "pfs/x"}, 0},
		{"./x", Operand{Side: Local, Local: "./x"}, 0},
		{".", Operand{Side: Local, Local: ".", Contents: true}, 0},
		{"a/..", Operand{Side: Local, Local: "a/..", Contents: true}, 0},
		{"a/", Operand{Side: Local, Local: "a/", Contents: true}, 0},
		{"a.", Operand{Side: Local, Local: "a."}, 0},
		{"file:/pfs/x", Operand{Side: Local, Local: "/pfs/x"}, 0},
		{"-", Operand{Side: Stdio}, 0},
		{"", Operand{}, cliio.Usage},
		{"file:", Operand{}, cliio.Usage},
		{"/pfs/dc/../x", Operand{}, cliio.Usage},
		{"/pfs/dc/a\xff", Operand{}, cliio.Usage},
		{"/pfs/dc/a\x00", Operand{}, cliio.Usage},
		{"/pfs/" + strings.Repeat("n", 256), Operand{}, cliio.Usage},
	}
	for _, tt := range tests {
		a := New(&Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		got, err := a.ParseOperand(tt.text)
		if cliio.CodeOf(err) != tt.code {
			t.Errorf("parseOperand(%q): %v, want code %d", tt.text, err, tt.code)
		}
		tt.want.Text = tt.text
		if err == nil && got != tt.want {
			t.Errorf("parseOperand(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
}
