package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertLabels names the same images as a user and as a shell does.
func TestConvertLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	cat, dog := convertData(t, "images/cat"), convertData(t, "images/dog")
	for _, tt := range []struct {
		name string
		args []string
		code cliio.Code
		want string // label and class of the first record
		text string // in the messages
	}{
		{"the directory", []string{convertData(t, "images")}, cliio.Done, `"label":"cat","class":0`, ""},
		{"what a shell makes of images/*", []string{cat, dog}, cliio.Failed, "", "the image has no label"},
		{"its directories", []string{"--label-from", "dir", dog, cat}, cliio.Done, `"label":"dog","class":2`, ""}, // of cat, deep, dog
		{"a file", []string{"--label-from", "dir", cat + "/a.png"}, cliio.Done, `"label":"cat","class":0`, ""},
		{"none", []string{"--label-from", "none", cat, dog}, cliio.Done, `"name":"cat/a.png","format"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runHere(t, slices.Concat([]string{"dataset", "convert", "-f", "--bad", "skip", "--output-path", "out", "--name-prefix", "x"}, tt.args)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.text) {
				t.Fatalf("code %d: %s", got.code, got.stderr)
			}
			if tt.code != cliio.Done {
				return
			}
			if got := runHere(t, "dataset", "cat", "-n", "1", "out"); !strings.Contains(got.stdout, tt.want) {
				t.Errorf("got %s, want %s", got.stdout, tt.want)
			}
		})
	}
}
