package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/payload"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/shard"
	"github.com/urfave/cli/v2"
)

const (
	// completeWithin is how long somebody at a keyboard waits for candidates.
	completeWithin = 1500 * time.Millisecond
	// mostCandidates are shown of one directory.
	mostCandidates = 500
)

// candidatesCommand is what completion scripts call: it prints what the last word
// can become, one a line. Nothing is asked and no error is shown.
func (d *deps) candidatesCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name: "__complete", args: "WORD...", most: -1, hidden: true,
		run: func(ctx context.Context, words []string) error {
			d.stderr.set(io.Discard)
			ctx, cancel := context.WithTimeout(ctx, completeWithin)
			defer cancel()
			for _, c := range d.candidates(ctx, app, words) {
				d.out.Printf("%s\n", c)
			}
			return nil
		},
	})
}

// candidates returns what the last of words can become.
func (d *deps) candidates(ctx context.Context, app *cli.App, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	path, operands, waiting := d.reached(app, before)
	commands, flags := app.Commands, app.Flags
	var last *cli.Command
	command := ""
	if len(path) > 0 {
		last = path[len(path)-1]
		command = last.Name
		commands, flags = last.Subcommands, append(slices.Clone(last.Flags), app.Flags...)
	}
	switch {
	case waiting != "":
		return d.values(ctx, command, waiting, word)
	case strings.HasPrefix(word, "--") && strings.Contains(word, "="):
		return d.valuesBehind(ctx, command, word)
	case strings.HasPrefix(word, "-"):
		return matching(flagWords(flags), word)
	case operands == 0 && len(commands) > 0 && (last == nil || last.Action == nil):
		return matching(commandWords(commands), word)
	case last == nil:
		return nil
	}
	return append(d.otherWords(last.Name, app, operands, commands, word), d.paths(ctx, word)...)
}

// flagValues are what flags of a few values may be given. A name that stands before a
// slash is that of the command, where one flag means several things.
var flagValues = map[string][]string{
	"sort":           sortKeys,
	"algorithm":      {digest.BLAKE3, digest.XXH3},
	"on-damage":      {"fail", "salvage", "skip"},
	"compressor":     {"gzip", "none", "snappy", "zstd"},
	"find/type":      {"d", "f", "l"},
	"format":         recordFormats,
	"convert/format": firstColumn(formatLines()),
	"payload":        firstColumn(encodingLines()),
	"encoding":       convert.Charsets(),
	"label-from":     {string(labelFromTop), string(labelFromDir), string(labelFromNone)},
	"delimiter":      {"space", "tab"},
	"bad":            {"fail", "skip"},
	"policy":         {byMod, byLPT, byRange, byRendezvous, byOrder},
	"weight":         {"bytes", "records"},
	"equal":          {shard.Exact.String(), shard.Drop.String(), shard.Pad.String()},
	"shuffle":        {"none", "global", "block:"},
	"shard/as":       {"json", "recordio"},
	"split/as":       {payload.Pickle, "recordio", "json"},
}

// values returns what the flag called name of a command may be given.
func (d *deps) values(ctx context.Context, command, name, word string) []string {
	for _, key := range []string{command + "/" + name, name} {
		if known, ok := flagValues[key]; ok {
			return matching(known, word)
		}
	}
	switch name {
	case "datacenter":
		if file, err := d.remotes.config(); err == nil {
			return matching(file.Names(), word)
		}
	}
	return d.paths(ctx, word)
}

// valuesBehind is values for a word like --name=value.
func (d *deps) valuesBehind(ctx context.Context, command, word string) []string {
	flag, value, _ := strings.Cut(word, "=")
	var list []string
	for _, v := range d.values(ctx, command, strings.TrimLeft(flag, "-"), value) {
		list = append(list, flag+"="+v)
	}
	return list
}

// otherWords returns the candidates that are no paths.
func (d *deps) otherWords(command string, app *cli.App, operands int, commands []*cli.Command, word string) []string {
	var list []string
	if operands == 0 {
		list = commandWords(commands)
	}
	switch command {
	case "help", "flags":
		list = commandWords(app.Commands)
	case "completion":
		list = []string{"bash", "fish", "zsh"}
	case "use-context", "logout":
		if file, err := d.remotes.config(); err == nil {
			list = file.Names()
		}
	}
	return matching(list, word)
}

// reached walks the words that are complete: the commands they name, how many
// operands follow, and the first name of the flag that waits for its value, if one does.
func (d *deps) reached(app *cli.App, words []string) (path []*cli.Command, operands int, waiting string) {
	commands, flags := app.Commands, app.Flags
	for _, w := range words {
		switch {
		case waiting != "":
			waiting = ""
		case strings.HasPrefix(w, "-") && w != "-":
			waiting = waitsForValue(flags, w)
		default:
			i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
			if i < 0 || operands > 0 {
				operands++
				continue
			}
			path = append(path, commands[i])
			flags = append(slices.Clone(commands[i].Flags), app.Flags...)
			commands = commands[i].Subcommands
		}
	}
	return path, operands, waiting
}

// waitsForValue returns the first name of the flag word if it needs another word.
func waitsForValue(flags []cli.Flag, word string) string {
	name := strings.TrimLeft(word, "-")
	for _, f := range flags {
		if dg, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) && dg.TakesValue() {
			return f.Names()[0]
		}
	}
	return ""
}

func flagWords(flags []cli.Flag) []string {
	var list []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				list = append(list, "--"+name)
			}
		}
	}
	return list
}

func commandWords(commands []*cli.Command) []string {
	var list []string
	for _, c := range commands {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	return list
}

func matching(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// paths returns the paths on the service that begin with word; directories end in
// a slash.
func (d *deps) paths(ctx context.Context, word string) []string {
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
	conn, err := d.remotes.at(ctx, dir)
	if err != nil {
		return nil
	}
	var list []string
	for e, err := range pfs.Entries(ctx, conn.fs, dir, nil) {
		if err != nil || len(list) == mostCandidates {
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
