package submit

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// The files that list excluded files of a package. The rules of the later file take precedence.
var ignoreFiles = []string{".gitignore", ".paddleignore"}

// firstRules leaves out the history of git. A first rule that excludes also makes package transfer
// include what no rule matches.
var firstRules = []transfer.Rule{{Exclude: true, Pattern: ".git"}}

// maxIgnore bounds the size of a file of rules in bytes.
const maxIgnore = 1 << 20

// readIgnore returns the rules of the ignore files in the directory dir, which is rel below the root of
// the package.
func readIgnore(ctx context.Context, dir transfer.End, rel string) (rules []transfer.Rule, err error) {
	for _, name := range ignoreFiles {
		path := dir.Path.Join(name)
		data, err := readSmall(ctx, dir.FS, path)
		if errors.Is(err, pfs.NotExist) || errors.Is(err, pfs.IsDir) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(data), "\n") {
			rule, ok := parseRule(line, rel)
			if !ok {
				continue
			}
			if _, err := transfer.NewFilter([]transfer.Rule{rule}); err != nil || strings.Contains(line, "[[:") {
				return nil, pfs.Errorf("submit.readIgnore", path, pfs.Invalid, "line %d: %q is not a pattern: see to its brackets", i+1, line)
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// parseRule converts a line of a .gitignore in the directory dir ("" is the root); ok is false if the
// line has no rule.
func parseRule(line, dir string) (rule transfer.Rule, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule, false
	}
	rule.Exclude = line[0] != '!'
	if !rule.Exclude {
		line = line[1:]
	}
	if strings.Trim(line, "/") == "" {
		return rule, false
	}
	// Braces have no meaning in a .gitignore.
	line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	path, slash := line, ""
	if p, ok := strings.CutSuffix(path, "/"); ok {
		path, slash = p, "/"
	}
	if path != "**" && strings.HasSuffix(path, "/**") {
		path += "/*" // what is below, not the directory
	}
	anchored := strings.Contains(path, "/")
	path = strings.TrimPrefix(path, "/")
	below := escapeGlob(dir)
	switch {
	case anchored && below == "":
		path = "/" + path
	case anchored:
		path = below + "/" + path
	case below != "":
		path = below + "/**/" + path
	}
	rule.Pattern = path + slash
	return rule, true
}

// escapeGlob returns the pattern that matches only s.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`).Replace(s)
}

// readSmall returns the content of a file of at most maxIgnore bytes.
func readSmall(ctx context.Context, fsys pfs.FileSystem, path pfs.Path) ([]byte, error) {
	f, err := fsys.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if n := f.Info().Size; n > maxIgnore {
		return nil, pfs.Errorf("submit.readSmall", path, pfs.Invalid, "%d bytes: this is not a list of patterns", n)
	}
	data := make([]byte, f.Info().Size)
	return data, pfs.ReadFull(ctx, f, data, 0)
}
