package main

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestChangesAsEvents checks the output of --json of commands that change names and attributes: a
// line for each change and one for each failure.
func TestChangesAsEvents(t *testing.T) {
	fsys := newHome(t)
	for _, tt := range []struct {
		args, stdout string
		code         cliio.Code
	}{
		{"mkdir HOME/d HOME/e", `{"event":"directory","path":"HOME/d"} {"event":"directory","path":"HOME/e"}`, cliio.Done},
		{"mkdir -v HOME/d HOME/f", `{"event":"failed","path":"HOME/d","error":"HOME/d: already exists","code":5} {"event":"directory","path":"HOME/f"}`, cliio.Partly},
		{"mkdir HOME/none/x", `{"event":"failed","path":"HOME/none/x","error":"HOME/none/x: no such file or directory: there is no directory HOME/none","code":3}`, cliio.NotFound},
		{"touch HOME/a HOME/b", `{"event":"created","path":"HOME/a"} {"event":"created","path":"HOME/b"}`, cliio.Done},
		{"touch HOME/a", `{"event":"touched","path":"HOME/a"}`, cliio.Done},
		{"chmod 600 HOME/a", `{"event":"changed","path":"HOME/a","mode":"0600"}`, cliio.Done},
		{"chmod 999 HOME/a", `{"event":"failed","error":"mode 999: an octal number up to 777 is needed","code":2}`, cliio.Usage},
		{"mv HOME/a HOME/b HOME/d", `{"event":"moved","path":"HOME/a","target":"HOME/d/a"} {"event":"moved","path":"HOME/b","target":"HOME/d/b"}`, cliio.Done},
		{"mv HOME/a HOME/c", `{"event":"failed","path":"HOME/a","error":"HOME/a: no such file or directory","code":3}`, cliio.NotFound},
		{"rm -f HOME/none HOME/d/a", `{"event":"deleted","path":"HOME/d/a"}`, cliio.Done},
		{"rm HOME/x*", `{"event":"failed","path":"HOME/x*","error":"HOME/x*: no such file or directory: nothing matches","code":3}`, cliio.NotFound},
		{"rm -r HOME/d", `{"event":"deleted","path":"HOME/d"}`, cliio.Done},
		{"rm --unfinished HOME", `{"event":"deleted","path":"HOME","uploads":0,"bytes":0}`, cliio.Done},
	} {
		args := strings.Fields(strings.ReplaceAll(tt.args, "HOME", home))
		got := run(t, testMain(t, fsys, append([]string{args[0], "--json"}, args[1:]...)...))
		want := strings.ReplaceAll(strings.ReplaceAll(tt.stdout, "HOME", home), "} {", "}\n{") + "\n"
		if got.code != tt.code || got.stdout != want || (got.stderr == "") != (tt.code == cliio.Done) {
			t.Errorf("%s: code %d, %s%s", tt.args, got.code, got.stdout, got.stderr)
		}
	}
}
