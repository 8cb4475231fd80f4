package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/manifest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/shard"
	"github.com/paddlecloud/pfs/split"
	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "write the generated parts of docs/cli.md")

const manual = "../../docs/cli.md"

// TestManual holds docs/cli.md to the help texts and tables that it is made of.
func TestManual(t *testing.T) {
	have, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	want := string(have)
	for name, text := range map[string]string{"codes": codeTable(), "commands": commandTexts()} {
		if want, err = withPart(want, name, text); err != nil {
			t.Fatal(err)
		}
	}
	if want == string(have) {
		return
	}
	if !*update {
		t.Fatal("docs/cli.md is not what the commands say: go test ./cmd/paddlectl -run TestManual -update")
	}
	if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withPart replaces one generated part of doc.
func withPart(doc, name, text string) (string, error) {
	before, rest, ok := strings.Cut(doc, "<!-- generated: "+name+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !ok || !ended {
		return "", fmt.Errorf("docs/cli.md has no part %q", name)
	}
	return before + "<!-- generated: " + name + " -->\n" + text + "<!-- end -->" + after, nil
}

func codeTable() string {
	var b strings.Builder
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, c := range cliio.Codes() {
		fmt.Fprintf(&b, "| %d | %s |\n", c, c)
	}
	return b.String()
}

func commandTexts() string {
	app := newDeps(&Main{Stdout: io.Discard, Stderr: io.Discard}).app()
	var b strings.Builder
	var each func(commands, path []*cli.Command)
	each = func(commands, path []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			path := append(path[:len(path):len(path)], c)
			var names []string
			for _, p := range path {
				names = append(names, p.Name)
			}
			fmt.Fprintf(&b, "### %s\n\n```text\n%s```\n\n", strings.Join(names, " "), helpOf(names))
			each(c.Subcommands, path)
		}
	}
	each(app.Commands, nil)
	return b.String()
}

// helpOf returns what --help prints.
func helpOf(names []string) string {
	var out bytes.Buffer
	m := &Main{Args: append(append([]string{"paddlectl"}, names...), "--help"), Stdout: &out, Stderr: io.Discard}
	m.Run(context.Background())
	return out.String()
}

// TestManualNamesEveryField checks that no field of --json is undocumented.
func TestManualNamesEveryField(t *testing.T) {
	doc, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		entryJSON{}, eventJSON{}, sumsJSON{}, sweptJSON{}, entryStatus{}, versionJSON{}, serviceJSON{},
		fileJSON{}, chunkJSON{}, recordJSON{}, damageJSON{}, reportJSON{}, tailJSON{}, indexJSON{}, writtenJSON{},
		differenceJSON{}, comparisonJSON{}, statsJSON{}, powerJSON{}, benchJSON{},
		convertSums{}, badJSON{}, datasetJSON{}, manifest.Input{}, manifest.Column{}, manifest.Shard{}, part{}, shard.Trainer{},
		shard.File{}, shard.Span{}, orderJSON{}, split.Plan{}, split.File{}, shardState{}, datasetSums{}, publishedJSON{},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("docs/cli.md does not mention %q of %T", name, v)
			}
		}
	}
}

// TestHelpNamesTheExitCode checks that what a command answers to a path that leads
// through a file is among the codes of its help text.
func TestHelpNamesTheExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	fsys := newHome(t)
	pfstest.WriteFile(t, fsys, home+"/file", nil)
	const below = home + "/file/x"
	for _, args := range [][]string{
		{"cat", below}, {"chmod", "600", below}, {"cp", below, "x"}, {"df", below}, {"du", below}, {"file", "get", below, "x"}, {"file", "ls", below},
		{"file", "rm", below}, {"find", below}, {"head", below}, {"ls", below}, {"mkdir", below}, {"mv", below, home + "/y"}, {"quota", below},
		{"quota", "set", "--files", "1", below}, {"rm", below}, {"stat", below}, {"sync", below, "x"}, {"tail", below}, {"touch", below},
		{"tree", below}, {"verify", below, home}, {"recordio", "ls", below}, {"recordio", "info", below},
		{"recordio", "cat", below}, {"recordio", "get", below, "0"}, {"recordio", "verify", below},
		{"recordio", "repair", below, "-o", "x"}, {"recordio", "salvage", below, "-o", "x"}, {"recordio", "index", below},
		{"recordio", "split", "--records", "1", "--output-path", "x", below}, {"recordio", "diff", below, below},
		{"recordio", "stats", below}, {"recordio", "bench", below}, {"recordio", "merge", below, "-o", "x"},
	} {
		got := run(t, testMain(t, fsys, args...))
		names := args[:1]
		if args[0] == "file" || args[0] == "recordio" || args[1] == "set" {
			names = args[:2]
		}
		line := fmt.Sprintf("\n  %3d  %s\n", got.code, got.code)
		if got.code == cliio.Done || !strings.Contains(helpOf(names), line) {
			t.Errorf("%v: code %d, which its help does not name: %s", args, got.code, got.stderr)
		}
	}
}
