package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertNotUTF8 converts text that is not UTF-8 in all places from which the manifest takes
// text: no unreadable set is made.
func TestConvertNotUTF8(t *testing.T) {
	t.Chdir(t.TempDir())
	const latin = "caf\xe9"
	for name, text := range map[string]string{
		"head.csv": "a," + latin + "\n1,2\n", "good.csv": "a,b\n1,2\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		code cliio.Code
		want string
	}{
		{"header", []string{"head.csv"}, cliio.Failed, "head.csv: the header: column 2 is not UTF-8: byte 0xe9 at position 4"},
		{"header, and what helps", []string{"head.csv"}, cliio.Failed, "hint: --encoding NAME reads other text: utf-8, "},
		{"row, and what helps", []string{"--no-header", "head.csv"}, cliio.Failed, "euc-kr; --bad skip leaves out malformed records"},
		{"label of a column", []string{"--label", latin, "good.csv"}, cliio.Usage, "flags are UTF-8"},
		{"text of null", []string{"--null", latin, "good.csv"}, cliio.Usage, "flags are UTF-8"},
		{"encoding", []string{"--encoding", "klingon", "good.csv"}, cliio.Usage, "--encoding klingon: there is no such"},
		{"encoding of images", []string{"--encoding", "latin1", "--format", "images", "good.csv"}, cliio.Failed, "images is not text"},
		{"delimiter", []string{"--delimiter", "\xe9", "good.csv"}, cliio.Usage, "one ASCII character is needed"},
		{"quote as delimiter", []string{"--delimiter", `"`, "good.csv"}, cliio.Usage, "one ASCII character is needed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runHere(t, append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, tt.args...)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("code %d, %q; want %d, %q", got.code, got.stderr, tt.code, tt.want)
			}
			if left := filesOf(t, "out"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestConvertEncoding reads the header that TestConvertNotUTF8 cannot.
func TestConvertEncoding(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("head.csv", []byte("a,caf\xe9\n1,\xfc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runHere(t, "dataset", "convert", "--encoding", "latin1", "--output-path", "out", "--name-prefix", "x", "head.csv")
	if got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	if got := runHere(t, "dataset", "cat", "out"); got.stdout != "{\"a\":1,\"café\":\"ü\"}\n" {
		t.Errorf("got %s", got.stdout)
	}
}

// NaN in JSON Lines is an error that names the place and the flag.
func TestConvertNaN(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x.jsonl", []byte("{\"a\":1}\n{\"a\":NaN}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x", "x.jsonl"}
	got := runHere(t, args...)
	for _, want := range []string{"x.jsonl, line 2", "NaN at column 6", "--allow-nan"} {
		if got.code == cliio.Done || !strings.Contains(got.stderr, want) {
			t.Errorf("code %d, %q; want %q", got.code, got.stderr, want)
		}
	}
	if got := runHere(t, slices.Insert(args, 2, "--allow-nan")...); got.code != cliio.Done {
		t.Errorf("with --allow-nan: code %d, %s", got.code, got.stderr)
	}
}
