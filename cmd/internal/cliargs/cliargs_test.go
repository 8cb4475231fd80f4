package cliargs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// testApp has a command of each shape. got, if not nil, receives the operands and set flags of the
// command that ran.
func testApp(got func(*cli.Context) error) *cli.App {
	return &cli.App{
		Name:  "tool",
		Flags: []cli.Flag{&cli.StringFlag{Name: "datacenter", Aliases: []string{"dc"}}},
		Commands: []*cli.Command{
			{
				Name: "ls", Action: got,
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "long", Aliases: []string{"l"}},
					&cli.BoolFlag{Name: "all", Aliases: []string{"a"}},
					&cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}},
					&cli.BoolFlag{Name: "one", Aliases: []string{"1"}},
					&cli.IntFlag{Name: "level", Aliases: []string{"L"}, Usage: "`N` levels"},
					&cli.StringSliceFlag{Name: "exclude", Aliases: []string{"x"}},
					&cli.StringFlag{Name: "jobname"},
					&Foreign{Letter: "n", Instead: "--long has names only"},
				},
			},
			{
				Name: "file", Action: got,
				Subcommands: []*cli.Command{{Name: "put", Action: got, Flags: []cli.Flag{&cli.BoolFlag{Name: "force", Aliases: []string{"f"}}}}},
			},
			{Name: "config", Subcommands: []*cli.Command{{Name: "view", Action: got}, {Name: "set", Action: got}, {Name: "secret", Hidden: true, Action: got}}},
		},
	}
}

func nothing(*cli.Context) error { return nil }

// TestArgs compares command lines as typed with those that urfave/cli gets.
func TestArgs(t *testing.T) {
	tests := []struct{ in, want string }{
		{"ls", "ls"},
		{"ls /a", "ls -- /a"},
		{"ls /a -l", "ls --long -- /a"},
		{"ls /a -lah /b", "ls --long --all --human-readable -- /a /b"},
		{"ls -1l", "ls --one --long"},
		{"ls -1", "ls --one"},
		{"ls -2", "ls -- -2"},
		{"ls -2.5 -l", "ls --long -- -2.5"},
		{"ls -", "ls -- -"},
		{"ls - -l", "ls --long -- -"},
		{"ls -- -l", "ls -- -l"},
		{"ls a -- -l --", "ls -- a -l --"},
		{"ls -jobname x", "ls --jobname=x"},
		{"ls --jobname x /a", "ls --jobname=x -- /a"},
		{"ls -jobname=x", "ls --jobname=x"},
		{"ls --jobname= /a", "ls --jobname= -- /a"},
		{"ls --jobname=a=b", "ls --jobname=a=b"},
		{"ls -jobname -l", "ls --jobname=-l"},
		{"ls --exclude -- --exclude=b", "ls --exclude=-- --exclude=b"},
		{"ls -L 2 /a", "ls --level=2 -- /a"},
		{"ls -L2", "ls --level=2"},
		{"ls -lL2 /a", "ls --long --level=2 -- /a"},
		{"ls -lL 2", "ls --long --level=2"},
		{"ls -lL=2", "ls --long --level=2"},
		{"ls -L -5", "ls --level=-5"},
		{"ls --long=false", "ls --long=false"},
		{"-dc x ls", "--datacenter=x ls"},
		{"ls /a -dc x", "--datacenter=x ls -- /a"},
		{"file src dst", "file -- src dst"},
		{"file put src -f dst", "file put --force -- src dst"},
		{"file -- put -f", "file put -- -f"},
		{"config view", "config view"},
		{"ls ls", "ls -- ls"},
		{"ls ", "ls -- "},
	}
	for _, tt := range tests {
		line, err := parse(testApp(nothing), strings.Split("tool "+tt.in, " "))
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if got := strings.Join(line.args()[1:], " "); got != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct{ in, command, want string }{
		{"lss", "tool", `no command "lss": did you mean ls?`},
		{"frobnicate", "tool", `no command "frobnicate"`},
		{"ls --lnog", "tool ls", "unknown flag --lnog: did you mean --long?"},
		{"ls -human", "tool ls", "unknown flag -human: did you mean --human-readable?"},
		{"ls --zzzzz=1", "tool ls", "unknown flag --zzzzz"},
		{"ls -z", "tool ls", "unknown flag -z"},
		{"ls -zy", "tool ls", "unknown flag -zy"},
		{"ls -lz", "tool ls", "unknown flag -z in -lz"},
		{"ls -lzay=1", "tool ls", "unknown flag -z in -lzay"},
		{"ls -Ll 2", "tool ls", "a flag in -Ll needs a value: it must be the last"},
		{"ls -n", "tool ls", "unknown flag -n: --long has names only"},
		{"ls -ln", "tool ls", "unknown flag -n: --long has names only"},
		{"dir", "tool", `no command "dir": did you mean ls?`},
		{"put", "tool", `no command "put"`},
		{"ls ---long", "tool ls", "unknown flag ---long: did you mean --long?"},
		{"ls --jobname", "tool ls", "flag --jobname needs a value"},
		{"ls -lL", "tool ls", "flag --level needs a value"},
		{"ls --level=x", "tool ls", "--level x: a number is needed"},
		{"ls --long=x", "tool ls", "--long x: true or false is needed"},
		{"config", "tool config", "which one? view, set"},
		{"config vew", "tool config", `no command "vew": did you mean view?`},
		{"config help view", "tool config", `no command "help": did you mean tool help config?`},
		{"file put --level 3", "tool file put", "unknown flag --level"},
		{"ls fail", "tool ls", "no good"},
	}
	for _, tt := range tests {
		app := testApp(func(c *cli.Context) error {
			if c.Args().First() == "fail" {
				return Usagef("no good")
			}
			return nil
		})
		app.Writer = &bytes.Buffer{}
		err := Run(context.Background(), app, strings.Fields("tool "+tt.in))
		var u *UsageError
		if !errors.As(err, &u) || u.Text != tt.want || u.Command != tt.command {
			t.Errorf("%q: got %#v (%v), want %q of %q", tt.in, u, err, tt.want, tt.command)
		}
		if out := app.Writer.(*bytes.Buffer).String(); out != "" {
			t.Errorf("%q: printed %q", tt.in, out)
		}
	}
}

func TestRunPassesFlagsAndOperands(t *testing.T) {
	var operands, excludes []string
	var human, help bool
	app := testApp(func(c *cli.Context) error {
		operands, excludes = c.Args().Slice(), c.StringSlice("exclude")
		human, help = c.Bool("human-readable"), c.Bool("help")
		return nil
	})
	err := Run(context.Background(), app, strings.Fields("tool ls help -h -x a,b -x -y h -- -z"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"help", "h", "-z"}; !slices.Equal(operands, want) {
		t.Errorf("operands = %q, want %q", operands, want)
	}
	if want := []string{"a,b", "-y"}; !slices.Equal(excludes, want) {
		t.Errorf("excludes = %q, want %q", excludes, want)
	}
	if !human || help {
		t.Errorf("human, help = %v, %v; want true, false", human, help)
	}
}

func TestHelp(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", []string{"Usage: tool <flags> <subcommand> <subcommand args>", "  config"}},
		{"--help", []string{"Usage: tool <flags>"}},
		{"ls /a --help", []string{"Usage: tool ls [flags]", "  -L, --level N", "      --jobname VALUE", "      --help"}},
		{"file put -h", []string{"Usage: tool file put", "  -h, --help"}},
		{"config --help", []string{"Usage: tool config [flags] <subcommand>", "  view"}},
	}
	for _, tt := range tests {
		app := testApp(func(*cli.Context) error { return errors.New("ran") })
		var out bytes.Buffer
		app.Writer = &out
		if err := Run(context.Background(), app, strings.Fields("tool "+tt.in)); err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: help lacks %q:\n%s", tt.in, want, &out)
			}
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("%q: help shows a hidden command", tt.in)
		}
	}
}

// TestCandidatesAreThereOnce, wherever a word can stand.
func TestCandidatesAreThereOnce(t *testing.T) {
	known := Known{
		Value:   func(string, string) []string { return nil },
		Operand: func(string, int, string) []string { return nil },
	}
	for words, want := range map[string]string{
		"--":            "--datacenter --dc --help",
		"ls --":         "--long --all --human-readable --one --level --exclude --jobname --help --datacenter --dc",
		"config --":     "--help --datacenter --dc",
		"config view -": "--help --datacenter --dc",
		"file put --":   "--force --help --datacenter --dc",
		"config ":       "view set",
		"file ":         "put",
	} {
		app := testApp(nothing)
		app.Writer = &bytes.Buffer{}
		if err := Run(context.Background(), app, []string{"tool"}); err != nil { // gives it --help
			t.Fatal(err)
		}
		if got := strings.Join(Candidates(app, strings.Split(words, " "), known), " "); got != want {
			t.Errorf("%q can become %q, want %q", words, got, want)
		}
	}
}
