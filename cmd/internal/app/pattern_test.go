package app

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestLocalPatterns checks that local patterns have the syntax of those on a service.
func TestLocalPatterns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]{b}*")
	for _, name := range []string{"g/1.txt", "g/a/2.txt", "g/a/b/3.txt", "g/a/b/4.csv", "g/.dot/5.txt", "g/.6.txt", "work/x", "a{1}.txt"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(dir, "work"))
	tests := []struct {
		pattern string
		want    []string // with slashes
		code    cliio.Code
	}{
		{pattern: "../g/**/*.txt", want: []string{"../g/1.txt", "../g/a/2.txt", "../g/a/b/3.txt"}},
		{pattern: "../g/**/{2,3,9}.txt", want: []string{"../g/a/2.txt", "../g/a/b/3.txt"}},
		{pattern: "../g/{a/b/*.csv,1.*}", want: []string{"../g/1.txt", "../g/a/b/4.csv"}},
		{pattern: "../g/*", want: []string{"../g/1.txt", "../g/a"}},
		{pattern: "../g/.*", want: []string{"../g/.6.txt", "../g/.dot"}},
		{pattern: "../g/[!a-z].txt", want: []string{"../g/1.txt"}},
		{pattern: "../a{1}.txt", want: []string{"../a{1}.txt"}}, // a file has this name
		{pattern: "?", want: []string{"x"}},
		{pattern: "./*", want: []string{"x"}},
		{pattern: "**", want: []string{"x"}},
		{pattern: dir + "/g/*.txt", want: []string{dir + "/g/1.txt"}}, // the directory's name is literal
		{pattern: "../none/*", code: cliio.NotFound},
		{pattern: "x/*", code: cliio.NotFound},
		{pattern: "[", code: cliio.Usage},
		{pattern: "../{g,h}/../*", code: cliio.Usage},
	}
	for _, tt := range tests {
		a := New(&Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		pattern := strings.ReplaceAll(tt.pattern, dir, escaped.Replace(dir))
		op, err := a.ParseOperand(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = a.Source(t.Context(), op, func(e transfer.End, text string) error {
			if _, err := e.FS.Stat(t.Context(), e.Path); err != nil {
				t.Errorf("%q: %v", tt.pattern, err)
			}
			got = append(got, filepath.ToSlash(text))
			return nil
		})
		if cliio.CodeOf(err) != tt.code || !slices.Equal(got, tt.want) {
			t.Errorf("%q matches %q, %v; want %q, code %d", tt.pattern, got, err, tt.want, tt.code)
		}
	}
}
