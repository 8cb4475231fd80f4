package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestDocumentedOptions compares the table of options in docs/pfsd.md with the flags of serve:
// their names, and their defaults if these are values.
func TestDocumentedOptions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "pfsd.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| Option | Default | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	option := regexp.MustCompile(`--([a-z][a-z-]*)`)
	defaults := map[string]string{} // as documented
	for row := range strings.Lines(table) {
		columns := strings.SplitN(strings.ReplaceAll(row, `\|`, ""), "|", 4)
		if len(columns) < 4 {
			t.Fatalf("no row of a table: %q", row)
		}
		for _, m := range option.FindAllStringSubmatch(columns[1], -1) {
			defaults[m[1]] = columns[2]
		}
	}
	for _, f := range serveFlags(&serveOptions{}) {
		name := f.Names()[0]
		documented, ok := defaults[name]
		if !ok {
			t.Errorf("docs/pfsd.md does not list --%s", name)
		}
		delete(defaults, name)
		value, has := defaultOf(f)
		if has && !slices.Contains(strings.FieldsFunc(documented, func(r rune) bool { return strings.ContainsRune(" `,", r) }), value) {
			t.Errorf("docs/pfsd.md has %q as default of --%s, which is %q", strings.TrimSpace(documented), name, value)
		}
	}
	for name := range defaults {
		t.Errorf("docs/pfsd.md lists --%s, which serve does not have", name)
	}
}

// defaultOf returns the value that f has when it is not given, unless that stands for something
// else.
func defaultOf(f cli.Flag) (value string, ok bool) {
	switch f := f.(type) {
	case *cli.StringFlag:
		return f.Value, f.Value != "" && f.DefaultText == ""
	case *cli.GenericFlag:
		return strings.TrimSuffix(f.Value.String(), "0s"), f.DefaultText == ""
	case *cli.IntFlag:
		return f.GetValue(), f.DefaultText == ""
	}
	return "", false
}

// TestDocumentedCheck holds that the options which check has beside those of serve, and the fields
// of its results, are in docs/pfsd.md.
func TestDocumentedCheck(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "pfsd.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range (&Main{}).checkCommand().Flags[len(serveFlags(&serveOptions{})):] {
		if !strings.Contains(string(text), "`check --"+f.Names()[0]) {
			t.Errorf("docs/pfsd.md does not tell of check --%s", f.Names()[0])
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[finding]()) {
		if name := f.Tag.Get("json"); name != "" && !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/pfsd.md does not tell of %q in check --json", name)
		}
	}
}
