package submit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// settingsFile has the settings of Visual Studio Code for the root of a package. Settings that begin with settingsPrefix belong to
// OpenPAI's client.
const (
	settingsFile   = ".vscode/settings.json"
	settingsPrefix = "pai.job."
)

// settings are what OpenPAI's client does with a package.
type settings struct {
	rules   []transfer.Rule // which files it uploads and, of these, which not; none unless uploads are enabled
	newName bool            // it gives the job another name each time
}

// NewName reports whether the settings in the package root ask for another name of the job each time.
func NewName(ctx context.Context, root transfer.End) (bool, error) {
	real, err := transfer.ResolveLink(ctx, root.FS, root.Path)
	if err != nil {
		return false, err
	}
	s, err := readSettings(ctx, transfer.End{FS: root.FS, Path: real})
	return s.newName, err
}

// readSettings returns the settings for the package in the directory root.
func readSettings(ctx context.Context, root transfer.End) (found settings, err error) {
	const op = "submit.readSettings"
	path := root.Path.Join(settingsFile)
	data, err := readSmall(ctx, root.FS, path)
	if errors.Is(err, pfs.NotExist) || errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.IsDir) {
		return settings{}, nil
	}
	if err != nil || !bytes.Contains(data, []byte(settingsPrefix)) {
		return settings{}, err
	}
	var s struct {
		Enabled bool     `json:"pai.job.upload.enabled"`
		Include []string `json:"pai.job.upload.include"`
		Exclude []string `json:"pai.job.upload.exclude"`
		NewName bool     `json:"pai.job.generateJobName.enabled"`
	}
	text := plainJSON(data)
	if err := json.Unmarshal(text, &s); err != nil {
		line := 0
		if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
			line = 1 + bytes.Count(text[:e.Offset], []byte("\n"))
		} else if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
			line = 1 + bytes.Count(text[:e.Offset], []byte("\n"))
		}
		return settings{}, pfs.Errorf(op, path, pfs.Invalid, "line %d: the settings of OpenPAI (%s*) cannot be read: %v", line, settingsPrefix, err)
	}
	found.newName = s.NewName
	if !s.Enabled {
		return found, nil
	}
	add := func(exclude bool, patterns []string) error {
		for _, p := range patterns {
			rule := transfer.Rule{Exclude: exclude, Pattern: p}
			if !strings.Contains(p, "/") {
				rule.Pattern = "/" + p // in Visual Studio Code a pattern begins at the root
			}
			if _, err := transfer.NewFilter([]transfer.Rule{rule}); err != nil {
				return pfs.Errorf(op, path, pfs.Invalid, "%q is not a pattern: see to its brackets and braces", p)
			}
			found.rules = append(found.rules, rule)
		}
		return nil
	}
	err = add(false, s.Include)
	if err == nil {
		err = add(true, s.Exclude)
	}
	return found, err
}

// plainJSON returns JSON without the comments and trailing commas that Visual Studio Code allows. Lines stay where they are.
func plainJSON(text []byte) []byte {
	plain := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if plain[i] != '\n' {
				plain[i] = ' '
			}
		}
	}
	comma := -1 // of the last comma that only space follows
	for i := 0; i < len(plain); i++ {
		rest := plain[i:]
		switch c := plain[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(plain) && plain[i] != '"'; i++ {
				if plain[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			blank(i, i+end)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return plain // which is not JSON
			}
			blank(i, i+end+4)
		case c == ',':
			comma = i
		case (c == ']' || c == '}') && comma >= 0:
			plain[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return plain
}
