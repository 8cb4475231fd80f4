package help

import (
	"context"
	_ "embed"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/files"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/recordio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/shard"
	"github.com/urfave/cli/v2"
)

// Completion returns the command completion.
func Completion(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "completion", Args: "bash|zsh|fish", Least: 1, Most: 1,
		Summary: "print the script that completes commands and paths",
		Text: `Prints a script for your shell that completes subcommands, flags and paths, those
on the service, too. Where the service does not answer within a moment, or you are
not logged in, there are no candidates.`,
		Examples: []string{
			"source <(paddlectl completion bash)",
			"paddlectl completion zsh > ~/.zsh/completions/_paddlectl",
			"paddlectl completion fish > ~/.config/fish/completions/paddlectl.fish",
		},
		Run: func(_ context.Context, operands []string) error {
			script, err := cliargs.CompletionScript(operands[0], "paddlectl", "paddlecloud")
			if err != nil {
				return err
			}
			a.Printf("%s", script)
			return nil
		},
	})
}

const (
	// completeWithin is how long somebody at a keyboard waits for candidates.
	completeWithin = 1500 * time.Millisecond
	// maxCandidates are shown of one directory.
	maxCandidates = 500
)

// Candidates is what completion scripts call: it prints what the last word
// can become, one a line. Nothing is asked and no error is shown.
func Candidates(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: cliargs.CompletionCommand, Args: "WORD...", Most: -1, Hidden: true,
		Run: func(ctx context.Context, words []string) error {
			a.Stderr.Set(io.Discard)
			ctx, cancel := context.WithTimeout(ctx, completeWithin)
			defer cancel()
			for _, c := range candidates(ctx, a, program, words) {
				a.Printf("%s\n", c)
			}
			return nil
		},
	})
}

// candidates returns what the last of words can become.
func candidates(ctx context.Context, a *app.App, program *cli.App, words []string) []string {
	return cliargs.Candidates(program, words, cliargs.Known{
		Value: func(command, name, word string) []string { return values(ctx, a, command, name, word) },
		Operand: func(command string, i int, word string) []string {
			if command == "" {
				return nil // of no command
			}
			return append(otherWords(a, program, command, i), paths(ctx, a, word)...)
		},
	})
}

// flagValues are what flags of a few values may be given. A name that stands before a
// slash is the last one of the command, where one flag means several things.
var flagValues = map[string][]string{
	"sort":           files.SortKeys,
	"color":          files.ColorModes,
	"algorithm":      {digest.BLAKE3, digest.XXH3},
	"on-damage":      {"fail", "salvage", "skip"},
	"compressor":     {"gzip", "none", "snappy", "zstd"},
	"find/type":      {"d", "f", "l"},
	"format":         recordio.RecordFormats,
	"convert/format": dataset.Formats(),
	"payload":        dataset.Payloads(),
	"encoding":       convert.Charsets(),
	"label-from":     {"top", "dir", "none"},
	"delimiter":      {"space", "tab"},
	"bad":            {"fail", "skip"},
	"of":             {"count", "last"},
	"policy":         {"mod", "lpt", "range", "rendezvous", "order"},
	"weight":         {"bytes", "records"},
	"equal":          {shard.Exact.String(), shard.Drop.String(), shard.Pad.String()},
	"shuffle":        {"none", "global", "block:"},
	"shard/as":       {"json", "recordio"},
	"split/as":       {payload.Pickle, "recordio", "json"},
}

// values returns what the flag called name of a command may be given.
func values(ctx context.Context, a *app.App, command, name, word string) []string {
	command = command[strings.LastIndexByte(command, ' ')+1:]
	for _, key := range []string{command + "/" + name, name} {
		if known, ok := flagValues[key]; ok {
			return known
		}
	}
	if name == "datacenter" {
		return datacenters(a)
	}
	return paths(ctx, a, word)
}

// datacenters returns the names of those in the configuration, as far as it can be read.
func datacenters(a *app.App) []string {
	file, err := a.Remotes.Config()
	if err != nil {
		return nil
	}
	return file.Names()
}

// otherWords returns the operands that are no paths.
func otherWords(a *app.App, program *cli.App, command string, i int) []string {
	switch command {
	case "help", "flags":
		return cliargs.CommandWords(program.Commands)
	case "completion":
		return cliargs.Shells
	case "config use-context", "config set", "config delete-context", "logout":
		return datacenters(a)
	}
	return nil
}

// paths returns the paths on the service that begin with word; directories end in
// a slash.
func paths(ctx context.Context, a *app.App, word string) []string {
	if len(word) > 0 && len(word) < len("/pfs/") && strings.HasPrefix("/pfs/", word) {
		return []string{"/pfs/"}
	}
	if !strings.HasPrefix(word, "/pfs/") {
		return nil
	}
	cut := strings.LastIndexByte(word, '/')
	dir, err := pfs.CleanPath(word[:cut])
	if err != nil {
		return nil
	}
	conn, err := a.Remotes.At(ctx, dir)
	if err != nil {
		return nil
	}
	var list []string
	for e, err := range pfs.Entries(ctx, conn.FS, dir, nil) {
		if err != nil || len(list) == maxCandidates {
			break
		}
		if !strings.HasPrefix(e.Name, word[cut+1:]) || strings.ContainsAny(e.Name, "\n\r") {
			continue
		}
		if e.Name[0] == '.' && word[cut+1:] == "" {
			continue
		}
		name := word[:cut+1] + e.Name
		if e.IsDir() {
			name += "/"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
