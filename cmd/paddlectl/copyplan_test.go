package main

import (
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestDestination is the table of the slash rules that docs/scripting.md states.
func TestDestination(t *testing.T) {
	file := copySource{text: "src", end: transfer.End{Path: "/x/src"}}
	dir := copySource{text: "src", end: transfer.End{Path: "/x/src"}, isDir: true}
	contents := copySource{text: "src/", end: transfer.End{Path: "/x/src"}, isDir: true, contents: true}
	notDir := copySource{text: "src/", end: transfer.End{Path: "/x/src"}, contents: true}

	missing := copyTarget{}
	missingSlash := copyTarget{slash: true}
	isDir := copyTarget{exists: true, isDir: true}
	isDirSlash := copyTarget{exists: true, isDir: true, slash: true}
	isFile := copyTarget{exists: true}
	isFileSlash := copyTarget{exists: true, slash: true}

	const dest, inside = "/d/dest", "/d/dest/src"
	tests := []struct {
		name  string
		s     copySource
		t     copyTarget
		want  pfs.Path
		makes bool
		code  cliio.Code
	}{
		{"file, nothing there", file, missing, dest, false, 0},
		{"file, nothing there, slash", file, missingSlash, inside, true, 0},
		{"file, directory", file, isDir, inside, false, 0},
		{"file, directory, slash", file, isDirSlash, inside, false, 0},
		{"file, file", file, isFile, dest, false, 0},
		{"file, file, slash", file, isFileSlash, "", false, cliio.Exists},

		{"src, nothing there", dir, missing, inside, true, 0},
		{"src, nothing there, slash", dir, missingSlash, inside, true, 0},
		{"src, directory", dir, isDir, inside, false, 0},
		{"src, directory, slash", dir, isDirSlash, inside, false, 0},
		{"src, file", dir, isFile, "", false, cliio.Exists},

		{"src/, nothing there", contents, missing, dest, false, 0},
		{"src/, nothing there, slash", contents, missingSlash, dest, false, 0},
		{"src/, directory", contents, isDir, dest, false, 0},
		{"src/, directory, slash", contents, isDirSlash, dest, false, 0},
		{"src/, file", contents, isFile, "", false, cliio.Exists},

		{"file/", notDir, isDir, "", false, cliio.Exists},
	}
	for _, tt := range tests {
		tt.t.end.Path = dest
		got, err := tt.t.destination(tt.s)
		if got != tt.want || cliio.CodeOf(err) != tt.code {
			t.Errorf("%s: place = %q, %v; want %q, code %d", tt.name, got, err, tt.want, tt.code)
		}
		if err == nil && tt.t.makesDir(tt.s) != tt.makes {
			t.Errorf("%s: makesDir = %v, want %v", tt.name, !tt.makes, tt.makes)
		}
		if err != nil {
			continue
		}
		// The same command, run again with what the first run has made.
		again := tt.t
		again.exists = true
		again.isDir = tt.t.isDir || tt.makes || tt.s.isDir
		if twice, err := again.destination(tt.s); err != nil || twice != got {
			t.Errorf("%s, again: place = %q, %v; want %q", tt.name, twice, err, got)
		}
	}
}

func TestCheckMany(t *testing.T) {
	for _, tt := range []struct {
		t    copyTarget
		want cliio.Code
	}{
		{copyTarget{many: true}, cliio.Usage},
		{copyTarget{many: true, exists: true}, cliio.Usage},
		{copyTarget{many: true, slash: true}, cliio.Done},
		{copyTarget{many: true, exists: true, isDir: true}, cliio.Done},
		{copyTarget{}, cliio.Done},
	} {
		if got := cliio.CodeOf(tt.t.checkMany()); got != tt.want {
			t.Errorf("checkMany of %+v: code %d, want %d", tt.t, got, tt.want)
		}
	}
}
