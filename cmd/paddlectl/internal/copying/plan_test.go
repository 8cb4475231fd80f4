package copying

import (
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestDestination checks the slash rules of docs/scripting.md.
func TestDestination(t *testing.T) {
	file := Source{text: "src", End: transfer.End{Path: "/x/src"}}
	dir := Source{text: "src", End: transfer.End{Path: "/x/src"}, isDir: true}
	contents := Source{text: "src/", End: transfer.End{Path: "/x/src"}, isDir: true, contents: true}
	notDir := Source{text: "src/", End: transfer.End{Path: "/x/src"}, contents: true}

	missing := Target{}
	missingSlash := Target{Slash: true}
	isDir := Target{Exists: true, IsDir: true}
	isDirSlash := Target{Exists: true, IsDir: true, Slash: true}
	isFile := Target{Exists: true}
	isFileSlash := Target{Exists: true, Slash: true}

	const dest, inside = "/d/dest", "/d/dest/src"
	tests := []struct {
		name  string
		s     Source
		t     Target
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
		tt.t.End.Path = dest
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
		// The same command again, after the first run has created the target.
		again := tt.t
		again.Exists = true
		again.IsDir = tt.t.IsDir || tt.makes || tt.s.isDir
		if twice, err := again.destination(tt.s); err != nil || twice != got {
			t.Errorf("%s, again: place = %q, %v; want %q", tt.name, twice, err, got)
		}
	}
}

func TestCheckMany(t *testing.T) {
	for _, tt := range []struct {
		t    Target
		want cliio.Code
	}{
		{Target{Many: true}, cliio.Usage},
		{Target{Many: true, Exists: true}, cliio.Usage},
		{Target{Many: true, Slash: true}, cliio.Done},
		{Target{Many: true, Exists: true, IsDir: true}, cliio.Done},
		{Target{}, cliio.Done},
	} {
		if got := cliio.CodeOf(tt.t.checkMany()); got != tt.want {
			t.Errorf("checkMany of %+v: code %d, want %d", tt.t, got, tt.want)
		}
	}
}
