package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "write docs/reference.md")

const (
	contract  = "../../docs/scripting.md"
	reference = "../../docs/reference.md"
)

// TestReference compares docs/reference.md with the help texts and the exit codes.
func TestReference(t *testing.T) {
	want := referenceText()
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(reference); err != nil || string(have) != want {
		t.Fatalf("docs/reference.md differs from the help texts (%v): go test ./cmd/paddlectl -run TestReference -update", err)
	}
}

func referenceText() string {
	return "# paddlectl reference\n\nThis page is generated from the commands' help texts; [scripting.md](scripting.md) states what holds for all of them.\n\n" +
		"## Exit codes\n\n" + codeTable() + "\n## Subcommands\n\n" + commandTexts()
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
	app := commands(app.New(&app.Main{Stdout: io.Discard, Stderr: io.Discard}))
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
			fmt.Fprintf(&b, "### %s\n\n```text\n%s```\n\n", strings.Join(names, " "), codesOnly(helpOf(names)))
			each(c.Subcommands, path)
		}
	}
	each(app.Commands, nil)
	return b.String()
}

// codesOnly lists the exit codes of a help text without their meanings, which the table of codes states.
func codesOnly(help string) string {
	before, rest, ok := strings.Cut(help, "\nExit codes:\n")
	if !ok {
		return help
	}
	codes, after, _ := strings.Cut(rest, "\n\n")
	var numbers []string
	for line := range strings.Lines(codes) {
		numbers = append(numbers, strings.Fields(line)[0])
	}
	return before + "\nExit codes: " + strings.Join(numbers, ", ") + "\n\n" + after
}

// helpOf returns the output of --help.
func helpOf(names []string) string {
	var out bytes.Buffer
	m := &app.Main{Program: commands, Args: append(append([]string{"paddlectl"}, names...), "--help"), Stdout: &out, Stderr: io.Discard}
	m.Run(context.Background())
	return out.String()
}

// TestEveryFieldDocumented checks that docs/scripting.md names every field of --json.
func TestEveryFieldDocumented(t *testing.T) {
	doc, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	for name, tags := range jsonTags(t) {
		for _, tag := range tags {
			if !strings.Contains(string(doc), "`"+tag+"`") {
				t.Errorf("%s: docs/scripting.md does not name %q", name, tag)
			}
		}
	}
}

// jsonTags are the names that the structs of each file give their fields in JSON.
func jsonTags(t *testing.T) map[string][]string {
	t.Helper()
	tags := map[string][]string{}
	state := []string{"staging.go", "parts.go", "units.go", "converton.go"}
	for _, dir := range []string{".", "../../pfs/dataset", "../../recordio", "../../shard", "../../split"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(state, filepath.Base(name)) {
				return err // the state of a conversion is not printed
			}
			text, err := os.ReadFile(name)
			for _, tag := range jsonTag.FindAllStringSubmatch(string(text), -1) {
				tags[name] = append(tags[name], tag[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tags
}

var jsonTag = regexp.MustCompile("`json:\"([a-z_0-9]+)")

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
